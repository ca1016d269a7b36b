"""Both measures by networkx, from the links in "edges"; compared with ours in "ranks"."""
import time

import networkx

graph = networkx.DiGraph()
own = {}
for line in open("ranks"):
    name, *values = line.split()
    own[name] = tuple(map(float, values))
    graph.add_node(name)
for line in open("edges"):
    graph.add_edge(*line.split())


def timed(what, compute):
    before = time.process_time()
    values = compute()
    print(f"networkx, {what}: {time.process_time() - before:.1f} s of CPU")
    return values


def places(values):
    """Places by value; those of one value share theirs."""
    ordered = sorted(values, key=values.get)
    found, at = {}, 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and values[ordered[end]] == values[ordered[at]]:
            end += 1
        for name in ordered[at:end]:
            found[name] = (at + end - 1) / 2
        at = end
    return found


def spearman(first, second):
    a, b = places(first), places(second)
    mean = (len(a) - 1) / 2
    together = sum((a[name] - mean) * (b[name] - mean) for name in a)
    spread = [sum((x[name] - mean) ** 2 for name in x) for x in (a, b)]
    return together / (spread[0] * spread[1]) ** 0.5


def overlap(first, second):
    top = [set(sorted(values, key=values.get)[-100:]) for values in (first, second)]
    return len(top[0] & top[1])


def off(values, column):
    apart = [abs(own[name][column] - value) / value for name, value in values.items() if value > 0]
    return f"apart {max(apart, default=0):.2e} at most, {sum(apart) / max(len(apart), 1):.2e} in the mean"


page_rank = timed("PageRank", lambda: networkx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=500))
print("  ours are", off(page_rank, 1))
harmonic = timed("harmonic centrality", lambda: networkx.harmonic_centrality(graph))
print("  ours are", off(harmonic, 0))
degree = {name: values[2] for name, values in own.items()}
assert degree == dict(graph.in_degree())
for what, values in [("PageRank", page_rank), ("harmonic centrality", harmonic)]:
    print(f"in-degree beside {what}: Spearman {spearman(degree, values):.3f}, {overlap(degree, values)} of the top 100")
