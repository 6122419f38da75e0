"""Does your model pass muster, for everyone it serves?"""
