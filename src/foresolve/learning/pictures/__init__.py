"""What training and scoring show of themselves: learning curves, regrets, differences, cost, one instance."""
