"""The bytes of tables, and formats that are turned into text: Excel, JSON, archives."""
