"""What makes an answer true to its passages: quotation, citations, claims, and the text that is sent."""
