"""From users' frames and files to data sets: names, keys, encodings, missing values."""
