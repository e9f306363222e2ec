"""What a policy does in production: decisions with certificates, what it remembers of training, monitoring."""
