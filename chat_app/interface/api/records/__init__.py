"""Services for record systems: CDS Hooks and Infobutton."""
