"""The functions of ``import dpcp_audit``, and what they return."""
