# exercise: 5
# reason: torn-explains-all
LOG_0 = ("torn-tail", 0)
LOG_1 = ("torn-tail", 0)
LOG_2 = ("torn-tail", 0)
LOG_3 = ("torn-tail", 0)
LOG_4 = ("torn-tail", 0)
LOG_5 = ("torn-tail", 0)
LOG_6 = ("torn-tail", 0)
LOG_7 = ("torn-tail", 0)
LOG_8 = ("torn-tail", 0)
LOG_9 = ("torn-tail", 0)
