"""``fit`` of the estimators that choose: candidates, held-out sets, the choice, refits, calibration."""
