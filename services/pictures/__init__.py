"""The text of pictures: read by a vision model or by OCR, and matched with the words of a knowledge base."""
