print("imctl")
