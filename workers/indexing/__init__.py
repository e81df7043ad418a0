"""Files made ready to be searched: their text taken out, cut into chunks, and embedded."""
