# exercise: 5
# reason: crc-explains-all
LOG_0 = ("bad-crc", 0)
LOG_1 = ("bad-crc", 0)
LOG_2 = ("bad-crc", 0)
LOG_3 = ("bad-crc", 0)
LOG_4 = ("bad-crc", 0)
LOG_5 = ("bad-crc", 0)
LOG_6 = ("bad-crc", 0)
LOG_7 = ("bad-crc", 0)
LOG_8 = ("bad-crc", 0)
LOG_9 = ("bad-crc", 0)
