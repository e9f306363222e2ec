"""scikit-learn: the estimator, the pipeline that decides, the scorer."""
