"""How decisions are drawn on their instances: one file a kind of picture, mixed into the problems it suits."""
