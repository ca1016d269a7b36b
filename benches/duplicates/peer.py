"""Near-duplicates by MinHash LSH of datasketch: for each text the most alike of those before it.

The first line says what it took; each further one has the numbers of a text and of the one before it.
"""

import resource
import sys
import time

from datasketch import MinHash, MinHashLSH

signing = finding = 0.0
lsh = MinHashLSH(threshold=0.8, num_perm=128)
signatures = []
pairs = []
with open(sys.argv[1]) as texts:
    for number, line in enumerate(texts):
        words = line.split()
        shingles = {" ".join(words[at : at + 5]).encode() for at in range(max(1, len(words) - 4))}
        before = time.process_time()
        signature = MinHash(num_perm=128)
        signature.update_batch(shingles)
        signed = time.process_time()
        near = [(signature.jaccard(signatures[other]), -other) for other in lsh.query(signature)]
        near = [pair for pair in near if pair[0] >= 0.8]
        lsh.insert(number, signature)
        finding += time.process_time() - signed
        signing += signed - before
        signatures.append(signature)
        if near:
            pairs.append((number, -max(near)[1]))
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"datasketch: signing {signing:.1f} s of CPU, finding {finding:.1f} s, memory at most {memory} MiB")
for number, other in pairs:
    print(number, other)
