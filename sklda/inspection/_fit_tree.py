"""The tree of the topics of all fits of a ConsensusTopics: its rows for plots, and the finer parts of topics."""

import numpy as np
from sklearn.utils import Bunch

from sklda._core.consensus_tree import leaves_below
from sklda._models.consensus.fits import topics_of_nodes
from sklda.inspection._axes import plain_text
from sklda.inspection._ranking import largest

# Smallest distance between joins of the plot that both have their numbers.
_ROOM = 0.02


def has_fit_tree(model):
    """Whether a model has the tree of several fits. Merged topics are not nodes of it."""
    return hasattr(model, "hierarchy_") and hasattr(model, "_levels_")


def fit_tree(model):
    """What `topic_hierarchy` returns for the topics of all fits, a Bunch."""
    if not has_fit_tree(model):
        raise TypeError(
            f"{type(model).__name__} has no tree of several fits: of='fits' needs a fitted ConsensusTopics whose "
            "topics are not merged."
        )
    found, n = model.hierarchy_, len(model.hierarchy_.topics)
    labels = np.full(n, -1)
    for c, node in enumerate(found.chosen):
        labels[leaves_below(found.linkage, node)] = c
    rows, joins = _Rows(found, [row["node"] for row in model._levels_]).of(2 * n - 2)
    return Bunch(**found, labels=labels, rows=np.array(rows, int), joins=joins, n_fits=len(model.estimators_))


class _Rows:
    """The finest nodes that are shown, and the joins above them."""

    def __init__(self, hierarchy, divided):
        self.tree, self.n = hierarchy.linkage, len(hierarchy.topics)
        self.chosen, self.divided = set(hierarchy.chosen.tolist()), set(divided)
        self.has_chosen, self.has_divided = self._above(self.chosen), self._above(self.divided)

    def _above(self, nodes):
        """Which nodes contain one of `nodes`, (2 n - 1,) bool."""
        found = np.isin(np.arange(2 * self.n - 1), list(nodes))
        for i, (left, right) in enumerate(self.tree[:, :2].astype(int)):
            found[self.n + i] |= found[left] | found[right]
        return found

    def of(self, root):
        """Rows below a node, and joins (node, lower, upper) of nodes that are shown, children first."""
        rows, joins = [], []
        # The node that stands for another one: its own join, or that of the only part that is shown.
        top = {}
        # Nodes to be seen, with whether they are inside a topic. Those whose parts have been seen have these, too.
        waiting = [(root, False, None)]
        while waiting:
            node, inside, parts = waiting.pop()
            if parts is None:
                inside = inside or node in self.chosen
                parts = self._parts(node, inside)
                if parts:
                    waiting.append((node, inside, parts))
                    waiting += [(part, inside, None) for part in reversed(parts)]
                elif inside:
                    rows.append(node)
                    top[node] = node
                continue
            tops = [top[part] for part in parts if part in top]
            if len(tops) == 2:
                joins.append((node, *tops))
                top[node] = node
            elif tops:
                top[node] = tops[0]
        return rows, joins

    def _parts(self, node, inside):
        """The children of a node that has rows below it; empty for others."""
        shown = self.has_divided if inside else self.has_chosen
        if not shown[node]:
            return []
        children = self.tree[node - self.n, :2].astype(int).tolist()
        # A side that fits do not have apart is not a part of the topic.
        return [each for each in children if shown[each]] if inside and node not in self.divided else children


def node_words(model, words, nodes, n_words):
    """The most probable words of nodes, a list of lists of str."""
    rows = topics_of_nodes(model, nodes)
    return [[words[v] for v in largest(row, n_words)] for row in rows]


def row_names(view, found, n_words):
    """Names of the rows of the display: the numbers of consensus topics, and words of the row or the topic's name."""
    topics = [int(found.labels[leaves_below(found.linkage, node)[0]]) for node in found.rows]
    words = node_words(view.model, view.words, found.rows, n_words) if len(topics) else []
    whole = view.labels(n_words=n_words)
    return [
        whole[c] if node in found.chosen else plain_text(f"part of {c}: {' '.join(each)}", 60)
        for c, node, each in zip(topics, found.rows, words, strict=True)
    ]


def finer_topics(view, n_words=5):
    """For every topic of a `ConsensusTopics` how fits divide it, coarsest first: a list of lists of str.

    None for other models.
    """
    model = view.model
    if not has_fit_tree(model):
        return None
    n_fits, tree, found = len(model.estimators_), model.hierarchy_, [[] for _ in range(view.n_topics)]
    nodes = [node for row in model._levels_ for node in row["parts"]]
    words = dict(zip(nodes, node_words(model, view.words, nodes, n_words), strict=True)) if nodes else {}
    for row in model._levels_:
        parts = [f"{' '.join(words[i])} (in {round(n_fits * tree.prevalence[i])})" for i in row["parts"]]
        n_dividing = round(n_fits * row["divided_by"])
        found[row["topic"]].append(f"{n_dividing} of {n_fits} fits divide it: {parts[0]} against {parts[1]}")
    return found


def draw_fit_tree(axes, found, names, colours):
    """The tree on the first Axes, and prevalences of its rows on the second; returns the bars."""
    tree, widths = axes
    height = np.concatenate([np.zeros(len(found.topics)), found.linkage[:, 2]])
    place = {int(node): float(y) for y, node in enumerate(found.rows)}
    topics = {node: found.labels[leaves_below(found.linkage, node)] for node in place}

    def colour(node):
        # Of a node inside a consensus topic.
        return colours[topics[node][0] % len(colours)] if (topics[node] == topics[node][0]).all() else "0.5"

    for node, lower, upper in found.joins:
        topics[node] = np.concatenate([topics[lower], topics[upper]])
        place[node] = (place[lower] + place[upper]) / 2
        x = [height[lower], height[node], height[node], height[upper]]
        tree.plot(x, [place[lower], place[lower], place[upper], place[upper]], color=colour(node), lw=1.3)
    for node, y in place.items():
        is_chosen = node in found.chosen
        face = colour(node) if is_chosen else "white"
        tree.plot(height[node], y, "o", ms=6 if is_chosen else 3, mec=colour(node), mfc=face, zorder=3)
    beside = {"xytext": (-4, 0), "textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 6.5}
    box = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
    above = {part: height[node] for node, *parts in found.joins for part in parts}
    for node, _, _ in found.joins:
        # Joins at almost the same distance have no room for all of their numbers.
        if above.get(node, 0) - height[node] > _ROOM:
            tree.annotate(_about(found, node), (height[node], place[node]), **beside, bbox=box, zorder=2)
    m = len(found.rows)
    drawn = widths.barh(range(m), found.prevalence[found.rows], color=[colour(int(node)) for node in found.rows])
    for y, node in enumerate(found.rows):
        widths.annotate(_about(found, node), (1.03, y), va="center", fontsize=7, annotation_clip=False)
    tree.set_yticks(np.arange(m), names, fontsize=8)
    tree.set(xlabel="Jensen-Shannon distance", ylim=(-0.5, m - 0.5), xlim=(0, 1))
    widths.set(xlabel="prevalence", ylim=(-0.5, m - 0.5), xlim=(0, 1), yticks=[])
    widths.set_title("fits, similarity, share", fontsize=8, loc="right")
    return drawn


def _about(found, node):
    """Fits that have a node, its similarity and its share."""
    fits = f"{round(found.n_fits * found.prevalence[node])}/{found.n_fits}"
    return f"{fits}, {found.similarity[node]:.2f}, {100 * found.share[node]:.0f}%"
