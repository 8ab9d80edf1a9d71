/* Selects pairs of items among those that are similar enough, and aligns what is left.

   Invariants: ties are decided as in Python; an aligner with a method of its own is called in
   Python, with the same items in the same order.

   Specified by `Greedy` and `Optimal` in align, which select among contested pairs. */

#include "kernel.h"

/* The Python values of some items of a side; NULL for an error. */
static PyObject *
item_values(const Side *side, const uint32_t *indexes, size_t number)
{
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values != NULL && i < number; i++) {
        PyObject *value = value_of(side->document, side->items[indexes[i]]);
        if (value == NULL || PyList_Append(values, value) < 0) {
            Py_CLEAR(values);
        }
        Py_XDECREF(value);
    }
    return values;
}

/* Pair two items that are not equal. */
static void
pair_similar(Alignment *alignment, double weight, uint32_t expected_index, uint32_t candidate_index)
{
    alignment->expected.partners[expected_index] = candidate_index;
    alignment->candidate.partners[candidate_index] = expected_index;
    alignment->similarities[expected_index] = weight / WEIGHT_UNIT;
}

/* Pair the items of a list of edges (weight, expected, candidate), whose numbers count the items
   at these indexes. */
static int
pair_edges(Alignment *alignment, PyObject *edges, const uint32_t *expected_indexes,
           size_t expected_number, const uint32_t *candidate_indexes, size_t candidate_number)
{
    PyObject *list = PySequence_Fast(edges, "edges must be a list");
    int done = list == NULL ? FAILED : DONE;
    for (Py_ssize_t i = 0; done == DONE && i < PySequence_Fast_GET_SIZE(list); i++) {
        Py_ssize_t expected_index, candidate_index;
        double weight;
        PyObject *edge = PySequence_Fast_GET_ITEM(list, i);
        done = FAILED;
        if (!PyTuple_Check(edge)) {
            PyErr_SetString(PyExc_TypeError, "an edge must be a tuple");
        } else if (PyArg_ParseTuple(edge, "dnn", &weight, &expected_index, &candidate_index)) {
            if (expected_index < 0 || candidate_index < 0
                || (size_t)expected_index >= expected_number
                || (size_t)candidate_index >= candidate_number) {
                PyErr_SetString(PyExc_IndexError, "an edge is between other items");
            } else {
                pair_similar(alignment, weight, expected_indexes[expected_index],
                             candidate_indexes[candidate_index]);
                done = DONE;
            }
        }
    }
    Py_XDECREF(list);
    return done;
}

/* Compare two edges for sorting, those with the largest weight first. */
static int
by_weight(const void *left, const void *right)
{
    double left_weight = ((const Edge *)left)->weight, right_weight = ((const Edge *)right)->weight;
    return (left_weight < right_weight) - (left_weight > right_weight);
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

/* The index of a number in a sorted list that contains it. */
static Py_ssize_t
index_among(const uint32_t *numbers, size_t number, uint32_t wanted)
{
    const uint32_t *match = bsearch(&wanted, numbers, number, sizeof *numbers, by_number);
    return match - numbers;
}

/* Let Python select among edges (`select_few`), given only the items that they have. */
static int
select_by_python(Search *search, const Edge *edges, size_t number)
{
    Alignment *alignment = search->alignment;
    const Side *expected_side = &alignment->expected, *candidate_side = &alignment->candidate;
    uint32_t *expected_indexes = PyMem_New(uint32_t, 2 * number),
             *candidate_indexes = expected_indexes + number;
    size_t expected_number, candidate_number;
    PyObject *edge_list = NULL, *expected_values = NULL, *candidate_values = NULL, *chosen = NULL;
    int done = FAILED;
    if (expected_indexes == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (size_t i = 0; i < number; i++) {
        expected_indexes[i] = expected_side->rest[edges[i].expected];
        candidate_indexes[i] = candidate_side->rest[edges[i].candidate];
    }
    expected_number = sort_unique(expected_indexes, number);
    candidate_number = sort_unique(candidate_indexes, number);
    edge_list = PyList_New(0);
    for (size_t i = 0; edge_list != NULL && i < number; i++) {
        PyObject *edge = Py_BuildValue(
            "dnn", edges[i].weight,
            index_among(expected_indexes, expected_number, expected_side->rest[edges[i].expected]),
            index_among(candidate_indexes, candidate_number,
                        candidate_side->rest[edges[i].candidate]));
        if (edge == NULL || PyList_Append(edge_list, edge) < 0) {
            Py_CLEAR(edge_list);
        }
        Py_XDECREF(edge);
    }
    expected_values = item_values(expected_side, expected_indexes, expected_number);
    candidate_values = item_values(candidate_side, candidate_indexes, candidate_number);
    if (edge_list != NULL && expected_values != NULL && candidate_values != NULL) {
        chosen = PyObject_CallFunctionObjArgs(search->node->select, edge_list, expected_values,
                                              candidate_values, NULL);
    }
    if (chosen != NULL) {
        done = pair_edges(alignment, chosen, expected_indexes, expected_number, candidate_indexes,
                          candidate_number);
    }
    PyMem_Free(expected_indexes);
    Py_XDECREF(edge_list);
    Py_XDECREF(expected_values);
    Py_XDECREF(candidate_values);
    Py_XDECREF(chosen);
    return done;
}

/* How many edges of the current weight an item has to items that are free. */
typedef struct {
    size_t level; /* the end of the edges with that weight */
    uint32_t edges;
} Rivals;

/* Count a free edge of an item at a level; return how many it has. */
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
    Rivals *expected_rivals = PyMem_Calloc((size_t)expected->rest_number + candidate->rest_number,
                                           sizeof *expected_rivals),
           *candidate_rivals = expected_rivals + expected->rest_number;
    const uint32_t *expected_indexes = expected->rest, *candidate_indexes = candidate->rest;
    Edge *edges = search->edges;
    size_t end, number = search->edge_number;
    int done = DONE;
    if (expected_rivals == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    if (number > 0) {
        qsort(edges, number, sizeof *edges, by_weight);
    }
    for (size_t start = 0; done == DONE && start < number; start = end) {
        size_t free_end = start, contested_end = start;
        double weight = edges[start].weight;
        for (end = start; end < number && edges[end].weight == weight; end++) {
        }
        for (size_t i = start; i < end; i++) {
            if (expected->partners[expected_indexes[edges[i].expected]] == NOWHERE
                && candidate->partners[candidate_indexes[edges[i].candidate]] == NOWHERE) {
                count_rival(&expected_rivals[edges[i].expected], end);
                count_rival(&candidate_rivals[edges[i].candidate], end);
                edges[free_end++] = edges[i];
            }
        }
        for (size_t i = start; i < free_end; i++) {
            if (expected_rivals[edges[i].expected].edges > 1
                || candidate_rivals[edges[i].candidate].edges > 1) {
                edges[contested_end++] = edges[i];
            } else {
                pair_similar(alignment, weight, expected_indexes[edges[i].expected],
                             candidate_indexes[edges[i].candidate]);
            }
        }
        if (contested_end > start) {
            done = number > MOST_CONTESTED
                       ? TO_PYTHON
                       : select_by_python(search, edges + start, contested_end - start);
        }
    }
    PyMem_Free(expected_rivals);
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

/* Select among all edges (`select_few`); TO_PYTHON if there are too many. */
static int
select_edges(Search *search)
{
    uint32_t *next = search->alignment->next; /* its chains are no longer needed */
    int contested = 0, done;
    for (size_t i = 0; i < search->edge_number; i++) {
        const Edge *edge = &search->edges[i];
        contested |= i > 0 && search->edges[i - 1].expected == edge->expected;
        next[edge->candidate] = NOWHERE;
    }
    for (size_t i = 0; i < search->edge_number; i++) {
        const Edge *edge = &search->edges[i];
        contested |= next[edge->candidate] != NOWHERE;
        next[edge->candidate] = edge->expected;
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

/* Let Python align the rest: `align_rest(list, indexes, expected, candidate)`. */
int
align_by_python(const Pair *pair, const Node *node, Alignment *alignment, const Token *list)
{
    const Side *expected_side = &alignment->expected, *candidate_side = &alignment->candidate;
    PyObject *raw = PyBytes_FromStringAndSize((const char *)BYTES(pair->expected) + list->start,
                                              (Py_ssize_t)list->length);
    PyObject *indexes = PyList_New(0), *expected = NULL, *candidate = NULL, *edges = NULL;
    int done = FAILED;
    for (uint32_t i = 0; indexes != NULL && i < expected_side->rest_number; i++) {
        if (append_number(indexes, (Py_ssize_t)expected_side->rest[i]) != DONE) {
            Py_CLEAR(indexes);
        }
    }
    if (raw != NULL && indexes != NULL) {
        expected = item_values(expected_side, expected_side->rest, expected_side->rest_number);
        candidate = item_values(candidate_side, candidate_side->rest, candidate_side->rest_number);
    }
    if (expected != NULL && candidate != NULL) {
        edges =
            PyObject_CallFunctionObjArgs(node->align_rest, raw, indexes, expected, candidate, NULL);
    }
    if (edges == Py_None) {
        done = TO_PYTHON; /* the whole list */
    } else if (edges != NULL) {
        done = pair_edges(alignment, edges, expected_side->rest, expected_side->rest_number,
                          candidate_side->rest, candidate_side->rest_number);
    }
    Py_XDECREF(raw);
    Py_XDECREF(indexes);
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    Py_XDECREF(edges);
    return done;
}
