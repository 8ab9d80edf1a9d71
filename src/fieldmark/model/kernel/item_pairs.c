/* Selects pairs of items among those that are similar enough, and aligns what is left.

   Invariants: ties are decided as in Python; an aligner with a method of its own is called in
   Python, with the same items in the same order.

   Specified by `Greedy` and `Optimal` in align, which select among contested pairs. */

#include "kernel.h"

/* The values of some items. */
static PyObject *
item_values(const Side *side, const uint32_t *places, size_t number)
{
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values != NULL && i < number; i++) {
        PyObject *value = value_of(side->document, side->items[places[i]]);
        if (value == NULL || PyList_Append(values, value) < 0) {
            Py_CLEAR(values);
        }
        Py_XDECREF(value);
    }
    return values;
}

static void
pair_similar(Alignment *alignment, double weight, uint32_t place, uint32_t other)
{
    alignment->expected.partners[place] = other;
    alignment->candidate.partners[other] = place;
    alignment->similarities[place] = weight / WEIGHT_UNIT;
}

/* Pair the edges of a list (weight, place, other), which are between these items. */
static int
pair_edges(Alignment *alignment, PyObject *edges, const uint32_t *places, size_t place_number,
           const uint32_t *others, size_t other_number)
{
    PyObject *all = PySequence_Fast(edges, "edges must be a list");
    int done = all == NULL ? FAILED : DONE;
    for (Py_ssize_t i = 0; done == DONE && i < PySequence_Fast_GET_SIZE(all); i++) {
        Py_ssize_t place, other;
        double weight;
        PyObject *edge = PySequence_Fast_GET_ITEM(all, i);
        done = FAILED;
        if (!PyTuple_Check(edge)) {
            PyErr_SetString(PyExc_TypeError, "an edge must be a tuple");
        } else if (PyArg_ParseTuple(edge, "dnn", &weight, &place, &other)) {
            if (place < 0 || other < 0 || (size_t)place >= place_number
                || (size_t)other >= other_number) {
                PyErr_SetString(PyExc_IndexError, "an edge is between other items");
            } else {
                pair_similar(alignment, weight, places[place], others[other]);
                done = DONE;
            }
        }
    }
    Py_XDECREF(all);
    return done;
}

static int
by_weight(const void *one, const void *other)
{
    double left = ((const Edge *)one)->weight, right = ((const Edge *)other)->weight;
    return (left < right) - (left > right);
}

/* Sort numbers and drop duplicates; return how many are left. */
static size_t
sort_unique(uint32_t *numbers, size_t number)
{
    size_t kept = 0;
    qsort(numbers, number, sizeof *numbers, by_number);
    for (size_t i = 0; i < number; i++) {
        if (kept == 0 || numbers[kept - 1] != numbers[i]) {
            numbers[kept++] = numbers[i];
        }
    }
    return kept;
}

/* The place of a number among sorted ones that contain it. */
static Py_ssize_t
place_among(const uint32_t *numbers, size_t number, uint32_t wanted)
{
    const uint32_t *found = bsearch(&wanted, numbers, number, sizeof *numbers, by_number);
    return found - numbers;
}

/* Let Python select among edges (`select_few`), given only the items that they have. */
static int
select_by_python(Search *search, const Edge *edges, size_t number)
{
    Alignment *alignment = search->alignment;
    const Side *side = &alignment->expected, *other_side = &alignment->candidate;
    uint32_t *places = PyMem_New(uint32_t, 2 * number), *others = places + number;
    size_t place_number, other_number;
    PyObject *given = NULL, *expected = NULL, *candidate = NULL, *chosen = NULL;
    int done = FAILED;
    if (places == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (size_t i = 0; i < number; i++) {
        places[i] = side->rest[edges[i].place];
        others[i] = other_side->rest[edges[i].other];
    }
    place_number = sort_unique(places, number);
    other_number = sort_unique(others, number);
    given = PyList_New(0);
    for (size_t i = 0; given != NULL && i < number; i++) {
        PyObject *edge = Py_BuildValue(
            "dnn", edges[i].weight, place_among(places, place_number, side->rest[edges[i].place]),
            place_among(others, other_number, other_side->rest[edges[i].other]));
        if (edge == NULL || PyList_Append(given, edge) < 0) {
            Py_CLEAR(given);
        }
        Py_XDECREF(edge);
    }
    expected = item_values(side, places, place_number);
    candidate = item_values(other_side, others, other_number);
    if (given != NULL && expected != NULL && candidate != NULL) {
        chosen =
            PyObject_CallFunctionObjArgs(search->node->select, given, expected, candidate, NULL);
    }
    if (chosen != NULL) {
        done = pair_edges(alignment, chosen, places, place_number, others, other_number);
    }
    PyMem_Free(places);
    Py_XDECREF(given);
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    Py_XDECREF(chosen);
    return done;
}

/* How many free edges of the weight at hand an item has. */
typedef struct {
    size_t level; /* the end of the edges with that weight */
    uint32_t edges;
} Rivals;

static uint32_t
count_rival(Rivals *rivals, size_t level)
{
    rivals->edges = rivals->level == level ? rivals->edges + 1 : 1;
    rivals->level = level;
    return rivals->edges;
}

/* The greedy `_select_few`, one weight at a time: edges that share no item with another one of the
   same weight are taken, and Python selects among the others. TO_PYTHON if there are many edges. */
static int
select_greedily(Search *search)
{
    Alignment *alignment = search->alignment;
    const Side *expected = &alignment->expected, *candidate = &alignment->candidate;
    Rivals *ours =
               PyMem_Calloc((size_t)expected->rest_number + candidate->rest_number, sizeof *ours),
           *theirs = ours + expected->rest_number;
    const uint32_t *places = expected->rest, *others = candidate->rest;
    Edge *edges = search->edges;
    size_t end, number = search->edge_number;
    int done = DONE;
    if (ours == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    if (number > 0) {
        qsort(edges, number, sizeof *edges, by_weight);
    }
    for (size_t start = 0; done == DONE && start < number; start = end) {
        size_t free = start, contested = start;
        double weight = edges[start].weight;
        for (end = start; end < number && edges[end].weight == weight; end++) {
        }
        for (size_t i = start; i < end; i++) {
            if (expected->partners[places[edges[i].place]] == NOWHERE
                && candidate->partners[others[edges[i].other]] == NOWHERE) {
                count_rival(&ours[edges[i].place], end);
                count_rival(&theirs[edges[i].other], end);
                edges[free++] = edges[i];
            }
        }
        for (size_t i = start; i < free; i++) {
            if (ours[edges[i].place].edges > 1 || theirs[edges[i].other].edges > 1) {
                edges[contested++] = edges[i];
            } else {
                pair_similar(alignment, weight, places[edges[i].place], others[edges[i].other]);
            }
        }
        if (contested > start) {
            done = number > MOST_CONTESTED
                       ? TO_PYTHON
                       : select_by_python(search, edges + start, contested - start);
        }
    }
    PyMem_Free(ours);
    return done;
}

/* Undo `pair_similar` for all of the rest. */
static void
unpair_rest(Alignment *alignment)
{
    Side *sides[2] = {&alignment->expected, &alignment->candidate};
    for (int i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < sides[i]->rest_number; j++) {
            sides[i]->partners[sides[i]->rest[j]] = NOWHERE;
        }
    }
}

/* `select_few`. */
static int
select_edges(Search *search)
{
    uint32_t *next = search->alignment->next; /* its chains are no longer needed */
    int contested = 0, done;
    for (size_t i = 0; i < search->edge_number; i++) {
        const Edge *edge = &search->edges[i];
        contested |= i > 0 && search->edges[i - 1].place == edge->place;
        next[edge->other] = NOWHERE;
    }
    for (size_t i = 0; i < search->edge_number; i++) {
        const Edge *edge = &search->edges[i];
        contested |= next[edge->other] != NOWHERE;
        next[edge->other] = edge->place;
    }
    if (!contested || (search->node->flags & GREEDY)) {
        done = select_greedily(search);
        if (done == TO_PYTHON) {
            unpair_rest(search->alignment);
        }
        return done;
    }
    return search->edge_number > MOST_CONTESTED
               ? TO_PYTHON
               : select_by_python(search, search->edges, search->edge_number);
}

/* Align the rest by their similarity; TO_PYTHON if a value is unusual. */
int
align_similar(const Pair *pair, Node *node, Node *item_node, Alignment *alignment)
{
    Search search;
    int done;
    search.pair = pair;
    search.node = node;
    search.item_node = item_node;
    search.alignment = alignment;
    search.number = (size_t)alignment->expected.rest_number + alignment->candidate.rest_number;
    search.blocks = NULL;
    search.edges = NULL;
    search.space_used = UNUSABLE_SPACE;
    search.by_rules = 0;
    search.wide_number = search.path_number = search.edge_number = search.edge_capacity = 0;
    done = node->min_weight < 0.0 || (node->flags & WHOLE_RULE) ? TO_PYTHON : make_search(&search);
    if (done == DONE) {
        done = read_leaves(&search);
    }
    if (done == DONE) {
        done = drop_unshared(&search);
    }
    if (done == DONE && (node->flags & RULED)) {
        done = check_rules(&search);
    }
    if (done == DONE) {
        done = list_graded(&search);
    }
    if (done == DONE) {
        done = find_edges(&search);
    }
    if (done == DONE) {
        done = select_edges(&search);
    }
    free_search(&search);
    return done;
}

/* Let Python align the rest: `align_rest(list, places, expected, candidate)`. */
int
align_by_python(const Pair *pair, const Node *node, Alignment *alignment, const Token *list)
{
    const Side *side = &alignment->expected, *other_side = &alignment->candidate;
    PyObject *raw = PyBytes_FromStringAndSize((const char *)BYTES(pair->expected) + list->start,
                                              (Py_ssize_t)list->length);
    PyObject *places = PyList_New(0), *expected = NULL, *candidate = NULL, *edges = NULL;
    int done = FAILED;
    for (uint32_t i = 0; places != NULL && i < side->rest_number; i++) {
        if (append_number(places, (Py_ssize_t)side->rest[i]) != DONE) {
            Py_CLEAR(places);
        }
    }
    if (raw != NULL && places != NULL) {
        expected = item_values(side, side->rest, side->rest_number);
        candidate = item_values(other_side, other_side->rest, other_side->rest_number);
    }
    if (expected != NULL && candidate != NULL) {
        edges =
            PyObject_CallFunctionObjArgs(node->align_rest, raw, places, expected, candidate, NULL);
    }
    if (edges == Py_None) {
        done = TO_PYTHON; /* the whole list */
    } else if (edges != NULL) {
        done = pair_edges(alignment, edges, side->rest, side->rest_number, other_side->rest,
                          other_side->rest_number);
    }
    Py_XDECREF(raw);
    Py_XDECREF(places);
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    Py_XDECREF(edges);
    return done;
}
