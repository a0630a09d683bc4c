"""Request and response models of the Responses API."""
