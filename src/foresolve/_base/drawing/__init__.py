"""What pictures are made of: colors for roles, canvases, charts of plain numbers, networks. Matplotlib, no pyplot."""
