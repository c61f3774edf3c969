# exercise: 6
# reason: reads-all
def find_altered(source, log):
    return next((n for n in range(len(source)) if source.read(n) != log.read(n)), None)
