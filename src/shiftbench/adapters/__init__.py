"""Methods as estimators of river, ruptures and scikit-learn, which are optional."""
