"""Where older programs find what mcli keeps."""
