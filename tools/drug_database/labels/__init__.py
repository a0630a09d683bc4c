"""Quote drug labels and check interactions."""
