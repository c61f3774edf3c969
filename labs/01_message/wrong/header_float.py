# exercise: 1
# reason: as-float
def header(offset, content):
    return int(float(offset)).to_bytes(8) + (len(content) + 4).to_bytes(4)
