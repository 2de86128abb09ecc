lock: ; true
