/* Walk: compares scalars, objects and lists, and records cells in `Outcomes`.

   Fields that need more than presence and equality are compared by the comparator, in Python. Keys
   of objects are found in turn if there are few, and with a table if there are many.

   Invariants: cells are recorded in the order in which `Walk` records them; an error of Python ends
   the walk; what is left to Python is recorded by Python, at the same place.

   Specified by `Walk` in plan/walk.py. */

#include "kernel.h"

/* The presence of a value (`presence` in values/presence.py), as far as its flags say. */
int
presence_of(const Token *token)
{
    if (token == NULL) {
        return ABSENT;
    }
    if (token->type == IS_NULL) {
        return NULL_VALUE;
    }
    if (token->type != IS_TEXT || (token->flags & FILLED)) {
        return VALUE;
    }
    return token->flags & (ESCAPED | WIDE) ? UNKNOWN : BLANK;
}

/* Record a cell. */
static int
append_cell(const Pair *pair, long long cell)
{
    PyObject *number = PyLong_FromLongLong(cell);
    int done = number != NULL && PyList_Append(pair->cells, number) == 0 ? DONE : FAILED;
    Py_XDECREF(number);
    return done;
}

/* Record a match, whose cell is made only once. */
static int
append_match(const Pair *pair, const Node *node)
{
    return PyList_Append(pair->cells, node->match) == 0 ? DONE : FAILED;
}

/* The Python value of a token, or MISSING if there is none. */
static PyObject *
side_of(const Pair *pair, const Document *document, const Token *token)
{
    return token == NULL ? Py_NewRef(pair->walker->missing) : value_of(document, token);
}

/* Let Python compare two values, and everything inside them. */
static int
compare_by_python(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    PyObject *expected_value = side_of(pair, pair->expected, expected);
    PyObject *candidate_value =
        expected_value == NULL ? NULL : side_of(pair, pair->candidate, candidate);
    PyObject *result = NULL;
    int done;
    if (candidate_value != NULL) {
        result =
            PyObject_CallFunctionObjArgs(pair->walker->compare, node->attribute, expected_value,
                                         candidate_value, pair->outcomes, NULL);
    }
    done = result == NULL ? FAILED : DONE;
    Py_XDECREF(expected_value);
    Py_XDECREF(candidate_value);
    Py_XDECREF(result);
    if (done == DONE && node->base < 0 && (node->flags & IS_LEAF)) {
        done = describe(pair->walker, node);
    }
    return done;
}

/* Whether two values are the same text. */
static int
are_same_text(const Pair *pair, const Token *expected, const Token *candidate)
{
    return expected->type == IS_TEXT && candidate->type == IS_TEXT
           && expected->length == candidate->length
           && memcmp(BYTES(pair->expected) + expected->start,
                     BYTES(pair->candidate) + candidate->start, expected->length)
                  == 0;
}

/* The place for a text that the comparator found to match itself, such as a pattern that can be
   read; NULL for an error. */
static PyObject **
agreed_place(Node *node, const Token *text)
{
    if (node->agreed == NULL) {
        node->agreed = PyMem_Calloc(MOST_AGREED, sizeof *node->agreed);
        if (node->agreed == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    return &node->agreed[text->hash & (MOST_AGREED - 1)];
}

/* Whether a byte is an ASCII digit. */
int
is_digit(Byte letter)
{
    return letter >= '0' && letter <= '9';
}

/* Whether a string, with its quotes, is a day as `date.fromisoformat` reads it. */
static int
is_iso_day(const Byte *text, uint32_t length)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int numbers[3] = {0, 0, 0}, part = 0, leap;
    if (length != sizeof "\"2024-12-31\"" - 1 || text[5] != '-' || text[8] != '-') {
        return 0;
    }
    for (int i = 1; i < 11; i++) {
        if (i == 5 || i == 8) {
            part++;
        } else if (is_digit(text[i])) {
            numbers[part] = 10 * numbers[part] + text[i] - '0';
        } else {
            return 0;
        }
    }
    leap = numbers[0] % 4 == 0 && (numbers[0] % 100 != 0 || numbers[0] % 400 == 0);
    return numbers[0] > 0 && numbers[1] >= 1 && numbers[1] <= 12 && numbers[2] >= 1
           && numbers[2] <= days[numbers[1] - 1] - (numbers[1] == 2 && !leap);
}

/* Whether two numbers are equal: 1, 0, or -1 if that is left to Python. */
static int
are_equal_numbers(const Token *left, const Token *right)
{
    const Token *whole = left->type == IS_WHOLE ? left : right;
    const Token *real = whole == left ? right : left;
    if (left->type == right->type) {
        return left->type == IS_WHOLE ? left->is.whole == right->is.whole
                                      : left->is.real == right->is.real;
    }
    if (whole->is.whole > LARGEST_EXACT || whole->is.whole < -LARGEST_EXACT) {
        return -1;
    }
    return (double)whole->is.whole == real->is.real;
}

/* `Exact.compare` and `Walk.classify` for two scalars. */
static int
compare_exactly(const Pair *pair, const Node *node, const Token *expected, const Token *candidate)
{
    static const Byte kinds[] = {0, 1, 1, 2, 2, 3}; /* `kind_of`, by type */
    int is_same_kind = kinds[expected->type] == kinds[candidate->type], equal = 0, done = FAILED;
    PyObject *cell_index;
    if (is_same_kind && expected->type == IS_TEXT) {
        int is_variant = (expected->flags | candidate->flags) & VARIANT;
        equal = are_same_text(pair, expected, candidate) ? 1 : is_variant ? -1 : 0;
    } else if (is_same_kind && kinds[expected->type] == 2) {
        equal = are_equal_numbers(expected, candidate);
    } else if (is_same_kind) {
        equal = expected->type == candidate->type;
    }
    if (equal != 0) {
        return equal < 0 ? TO_PYTHON : append_match(pair, node);
    }
    cell_index = PyLong_FromSsize_t(PyList_GET_SIZE(pair->cells));
    if (cell_index != NULL
        && PyDict_SetItem(pair->comparisons, cell_index,
                          is_same_kind ? pair->walker->different : pair->walker->wrong_type)
               == 0) {
        done = append_cell(pair, node->base | pair->walker->facts[is_same_kind ? 16 : 17]);
    }
    Py_XDECREF(cell_index);
    return done;
}

/* Call the comparator for two values, and classify the result (`Walk.classify`). Comparators have
   no state, so what was found for a text holds for all documents. */
static int
compare_values(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    const char *text = (const char *)BYTES(pair->expected) + expected->start;
    PyObject **agreed = NULL;
    if (node->flags & EXACT) {
        int done = compare_exactly(pair, node, expected, candidate);
        if (done != TO_PYTHON) {
            return done;
        }
    }
    if (are_same_text(pair, expected, candidate)) {
        if (node->iso_matches && is_iso_day((const Byte *)text, expected->length)) {
            return append_match(pair, node);
        }
        agreed = agreed_place(node, expected);
        if (agreed == NULL) {
            return FAILED;
        }
    }
    if (agreed != NULL && *agreed != NULL
        && PyBytes_GET_SIZE(*agreed) == (Py_ssize_t)expected->length
        && memcmp(PyBytes_AS_STRING(*agreed), text, expected->length) == 0) {
        return append_match(pair, node);
    }
    PyObject *expected_value = value_of(pair->expected, expected);
    PyObject *candidate_value =
        expected_value == NULL ? NULL : value_of(pair->candidate, candidate);
    PyObject *arguments[3] = {NULL, expected_value, candidate_value}, *comparison = NULL;
    int done = FAILED;
    if (candidate_value != NULL) {
        comparison = PyObject_Vectorcall(node->compare, arguments + 1,
                                         2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    if (comparison == pair->walker->matched) {
        done = append_match(pair, node);
        if (agreed != NULL && done == DONE) {
            PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)expected->length);
            done = bytes == NULL ? FAILED : DONE;
            Py_XSETREF(*agreed, bytes);
        }
    } else if (comparison != NULL) {
        PyObject *cell = NULL, *cell_index = PyLong_FromSsize_t(PyList_GET_SIZE(pair->cells));
        if (cell_index != NULL) {
            cell = PyObject_CallFunctionObjArgs(pair->walker->classify, node->attribute, comparison,
                                                expected_value, candidate_value, pair->outcomes,
                                                cell_index, NULL);
        }
        done = cell != NULL && PyList_Append(pair->cells, cell) == 0 ? DONE : FAILED;
        Py_XDECREF(cell_index);
        Py_XDECREF(cell);
    }
    Py_XDECREF(expected_value);
    Py_XDECREF(candidate_value);
    Py_XDECREF(comparison);
    return done;
}

/* Whether two scalars are equal for certain; Python decides about all others. */
static int
are_equal(const Pair *pair, const Node *node, const Token *expected, const Token *candidate)
{
    if (expected->type != candidate->type) {
        return 0;
    }
    switch (expected->type) {
    case IS_TEXT:
        return node->text_matches && (expected->flags & FILLED)
               && are_same_text(pair, expected, candidate);
    case IS_WHOLE:
        return node->number_matches && expected->is.whole == candidate->is.whole;
    case IS_REAL:
        return node->number_matches && expected->is.real == candidate->is.real;
    default:
        return 0;
    }
}

/* `Walk._compare_leaf` for two scalars, of which one may be absent. */
static int
compare_leaf(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    int expected_presence = presence_of(expected), candidate_presence = presence_of(candidate);
    if (expected == NULL && ((node->flags & TRUTH_ONLY) || !pair->walker->with_extras)) {
        return DONE;
    }
    if (node->base < 0 || expected_presence == UNKNOWN || candidate_presence == UNKNOWN) {
        return compare_by_python(pair, node, expected, candidate);
    }
    if (expected_presence != VALUE || candidate_presence != VALUE) {
        return append_cell(
            pair, node->base | pair->walker->facts[expected_presence * 4 + candidate_presence]);
    }
    if (node->compare == Py_None) {
        return compare_by_python(pair, node, expected, candidate);
    }
    return compare_values(pair, node, expected, candidate);
}

static int compare_lists(const Pair *pair, Node *node, const Token *expected,
                         const Token *candidate);

/* `Walk.compare`; either side may be absent. */
int
compare(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    int has_container = (expected != NULL && expected->type >= IS_LIST)
                        || (candidate != NULL && candidate->type >= IS_LIST);
    if (node->flags & SKIPPED) {
        return DONE;
    }
    if (!has_container) {
        return node->flags & IS_LEAF ? compare_leaf(pair, node, expected, candidate)
                                     : compare_by_python(pair, node, expected, candidate);
    }
    if ((node->flags & WALKS) && (expected == NULL || candidate == NULL)) {
        const Token *only = expected == NULL ? candidate : expected;
        if (only->is.count > 0) {
            return record_unmatched(pair, node, only, expected == NULL, 0);
        }
    }
    if (expected != NULL && candidate != NULL && expected->type == candidate->type
        && expected->is.count > 0 && candidate->is.count > 0) {
        if (expected->type == IS_OBJECT && (node->flags & WALKS)) {
            return compare_objects(pair, node, expected, candidate);
        }
        if (expected->type == IS_LIST && (node->flags & ALIGNS)) {
            int done = compare_lists(pair, node, expected, candidate);
            if (done != TO_PYTHON) {
                return done;
            }
        }
    }
    return compare_by_python(pair, node, expected, candidate);
}

/* ---- Members of objects by key: in turn for few, with a table for many ---- */

#define FEW_MEMBERS 16

/* Prepare to find members of an object; `close_members` must follow. */
int
open_members(Members *members, const Document *document, const Token *object)
{
    const Token *member = object + 1;
    members->document = document;
    members->object = object;
    members->next = member;
    members->position = 0;
    members->table = NULL;
    if (object->is.count <= FEW_MEMBERS) {
        return DONE;
    }
    members->size = 1;
    while (members->size < 2 * (size_t)object->is.count) {
        members->size *= 2;
    }
    members->table = PyMem_Calloc(members->size, sizeof *members->table);
    if (members->table == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (uint32_t i = 0; i < object->is.count; i++) {
        size_t at = (size_t)member->key_hash & (members->size - 1);
        while (members->table[at] != 0) {
            at = (at + 1) & (members->size - 1);
        }
        members->table[at] = (uint32_t)(member - document->tokens); /* never the first token */
        member = &document->tokens[member->next];
    }
    return DONE;
}

/* Free the table of members, if there is one. */
void
close_members(Members *members)
{
    PyMem_Free(members->table);
}

/* Whether two tokens have the same key. */
int
is_same_key(const Byte *left_bytes, const Token *left, const Byte *right_bytes, const Token *right)
{
    return left->key_hash == right->key_hash && left->key_length == right->key_length
           && are_same_bytes(left_bytes + left->key, right_bytes + right->key, left->key_length);
}

/* The member with the key of a token in another document, or NULL. */
const Token *
find_member(Members *members, const Byte *bytes, const Token *wanted)
{
    const Byte *own = BYTES(members->document);
    const Token *tokens = members->document->tokens;
    uint32_t count = members->object->is.count;
    if (members->table == NULL
        || (members->position < count && is_same_key(own, members->next, bytes, wanted))) {
        /* The next key is probably the one after the last that was found. */
        for (uint32_t i = 0; i < count; i++) {
            const Token *member;
            if (members->position == count) {
                members->position = 0;
                members->next = members->object + 1;
            }
            member = members->next;
            members->next = &tokens[member->next];
            members->position++;
            if (is_same_key(own, member, bytes, wanted)) {
                return member;
            }
        }
        return NULL;
    }
    for (size_t at = (size_t)wanted->key_hash & (members->size - 1); members->table[at] != 0;
         at = (at + 1) & (members->size - 1)) {
        const Token *member = &tokens[members->table[at]];
        if (is_same_key(own, member, bytes, wanted)) {
            return member;
        }
    }
    return NULL;
}

/* Compare two objects (`Walk.compare_objects`): the members of the ground truth in its order, then
   those that only the candidate has. */
int
compare_objects(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    const Walker *walker = pair->walker;
    const Byte *expected_bytes = BYTES(pair->expected), *candidate_bytes = BYTES(pair->candidate);
    const Token *member = expected + 1;
    uint32_t shared = 0;
    Members members;
    int done = open_members(&members, pair->candidate, candidate);
    for (uint32_t i = 0; done == DONE && i < expected->is.count; i++) {
        Node *child = child_of(walker, node, expected_bytes, member, i);
        const Token *counterpart = find_member(&members, expected_bytes, member);
        shared += counterpart != NULL;
        if (child == NULL) {
            done = FAILED;
        } else if (counterpart != NULL && are_equal(pair, child, member, counterpart)) {
            done = append_match(pair, child);
        } else {
            done = compare(pair, child, member, counterpart);
        }
        member = &pair->expected->tokens[member->next];
    }
    close_members(&members);
    if (done != DONE || !walker->with_extras || shared == candidate->is.count) {
        return done;
    }
    done = open_members(&members, pair->expected, expected);
    member = candidate + 1;
    for (uint32_t i = 0; done == DONE && i < candidate->is.count; i++) {
        if (find_member(&members, candidate_bytes, member) == NULL) {
            Node *child = child_of(walker, node, candidate_bytes, member, i);
            done = child == NULL ? FAILED : compare(pair, child, NULL, member);
        }
        member = &pair->candidate->tokens[member->next];
    }
    close_members(&members);
    return done;
}

/* Mark that the following cells belong to these items (`ItemMark`). */
static int
mark_item(const Pair *pair, const Node *node, uint32_t expected_index, uint32_t candidate_index,
          double similarity)
{
    PyObject *values[5] = {
        PyLong_FromSsize_t(PyList_GET_SIZE(pair->cells)),
        Py_NewRef(node->item_path),
        expected_index == NOWHERE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(expected_index),
        candidate_index == NOWHERE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(candidate_index),
        expected_index == NOWHERE || candidate_index == NOWHERE ? Py_NewRef(Py_None)
                                                                : PyFloat_FromDouble(similarity),
    };
    PyObject *mark = PyTuple_New(5);
    int done = mark != NULL;
    for (int i = 0; i < 5; i++) {
        done = done && values[i] != NULL;
        if (mark != NULL) {
            PyTuple_SET_ITEM(mark, i, values[i]);
        } else {
            Py_XDECREF(values[i]);
        }
    }
    if (done) {
        PyObject_GC_UnTrack(mark); /* it cannot be part of a cycle */
    }
    done = done && PyList_Append(pair->items, mark) == 0;
    Py_XDECREF(mark);
    return done ? DONE : FAILED;
}

/* Call a function of `Walk` that records a value without counterpart; `names` are those of its
   arguments after the first three. */
static int
record_by_python(const Pair *pair, PyObject *function, PyObject *names, const Node *node,
                 const Token *token, int extra)
{
    PyObject *value = value_of(extra ? pair->candidate : pair->expected, token), *result = NULL;
    PyObject *arguments[5] = {node->attribute, value, pair->outcomes, extra ? Py_True : Py_False,
                              Py_True};
    int done;
    if (value != NULL) {
        result = PyObject_Vectorcall(function, arguments, 3, names);
    }
    done = result == NULL ? FAILED : DONE;
    Py_XDECREF(value);
    Py_XDECREF(result);
    return done;
}

/* `Walk.record_unmatched_item`: record the leaves of an item without counterpart. */
static int
record_item(const Pair *pair, Node *node, const Token *item, int extra)
{
    const Walker *walker = pair->walker;
    Py_ssize_t start = PyList_GET_SIZE(pair->cells);
    int done;
    if (!(node->flags & WALKS) || item->type != IS_OBJECT || item->is.count == 0) {
        return record_by_python(pair, walker->record_item, walker->extra, node, item, extra);
    }
    done = record_unmatched(pair, node, item, extra, 1);
    if (done != DONE || PyList_GET_SIZE(pair->cells) > start) {
        return done;
    }
    return record_by_python(pair, walker->record_bare_item, walker->extra, node, item, extra);
}

/* `Walk.record_unmatched`: record every leaf of a value without counterpart. */
int
record_unmatched(const Pair *pair, Node *node, const Token *token, int extra, int in_list)
{
    const Walker *walker = pair->walker;
    const Document *document = extra ? pair->candidate : pair->expected;
    const Token *inner = token + 1;
    Node *item_node = NULL;
    int done = DONE;
    if ((node->flags & SKIPPED) || (extra && !walker->with_extras)) {
        return DONE;
    }
    if (token->type < IS_LIST) {
        int presence = presence_of(token);
        if ((node->flags & IS_LEAF) && presence != UNKNOWN) {
            return in_list && presence != VALUE
                       ? DONE
                       : compare_leaf(pair, node, extra ? NULL : token, extra ? token : NULL);
        }
    } else if (token->is.count > 0 && (node->flags & WALKS)) {
        if (token->type == IS_LIST && node->item_path != Py_None) {
            item_node = item_of(walker, node);
            if (item_node == NULL && PyErr_Occurred()) {
                return FAILED;
            }
        }
        for (uint32_t i = 0; done == DONE && item_node != NULL && i < token->is.count; i++) {
            done = mark_item(pair, node, extra ? NOWHERE : i, extra ? i : NOWHERE, 0.0);
            done = done == DONE ? record_item(pair, item_node, inner, extra) : done;
            inner = &document->tokens[inner->next];
        }
        for (uint32_t i = 0; done == DONE && token->type == IS_OBJECT && i < token->is.count; i++) {
            Node *child = child_of(walker, node, BYTES(document), inner, i);
            done = child == NULL ? FAILED : record_unmatched(pair, child, inner, extra, in_list);
            inner = &document->tokens[inner->next];
        }
        if (item_node != NULL || token->type == IS_OBJECT) {
            return done;
        }
    }
    done = record_by_python(pair, walker->record, in_list ? walker->extra_in_list : walker->extra,
                            node, token, extra);
    if (done == DONE && node->base < 0 && (node->flags & IS_LEAF)) {
        done = describe(walker, node);
    }
    return done;
}

/* Compare the items of an alignment, then record those without counterpart. */
static int
compare_items(const Pair *pair, Node *node, Node *item_node, const Alignment *alignment)
{
    const Side *expected = &alignment->expected, *candidate = &alignment->candidate;
    int done = DONE;
    for (uint32_t i = 0; done == DONE && i < expected->number; i++) {
        uint32_t partner = expected->partners[i];
        const Token *item = expected->items[i], *counterpart;
        if (partner == NOWHERE) {
            continue;
        }
        counterpart = candidate->items[partner];
        done = mark_item(pair, node, i, partner, alignment->similarities[i]);
        if (done == DONE) {
            int walked = (item_node->flags & WALKS) && item->type == IS_OBJECT
                         && counterpart->type == IS_OBJECT && item->is.count > 0;
            done = walked ? compare_objects(pair, item_node, item, counterpart)
                          : compare(pair, item_node, item, counterpart);
        }
    }
    for (uint32_t i = 0; done == DONE && i < expected->number; i++) {
        if (expected->partners[i] == NOWHERE) {
            done = mark_item(pair, node, i, NOWHERE, 0.0);
            done = done == DONE ? record_item(pair, item_node, expected->items[i], 0) : done;
        }
    }
    for (uint32_t i = 0; done == DONE && pair->walker->with_extras && i < candidate->number; i++) {
        if (candidate->partners[i] == NOWHERE) {
            done = mark_item(pair, node, NOWHERE, i, 0.0);
            done = done == DONE ? record_item(pair, item_node, candidate->items[i], 1) : done;
        }
    }
    return done;
}

/* `Walk._compare_lists`; TO_PYTHON before anything is recorded. */
static int
compare_lists(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    Alignment alignment = {0};
    const Side *expected_side = &alignment.expected, *candidate_side = &alignment.candidate;
    Node *item_node = NULL;
    int done;
    if (((expected->flags | candidate->flags) & VARIANT) || expected->is.count > MOST_ITEMS
        || candidate->is.count > MOST_ITEMS) {
        return TO_PYTHON;
    }
    done = make_alignment(&alignment, pair, expected, candidate);
    if (done == DONE) {
        done = pair_equal(&alignment);
    }
    if (done == DONE && (node->flags & RULED)) {
        item_node = item_of(pair->walker, node);
        done = item_node != NULL ? DONE : PyErr_Occurred() ? FAILED : TO_PYTHON;
    }
    if (done == DONE && expected_side->rest_number > 0 && candidate_side->rest_number > 0) {
        if ((uint64_t)expected_side->rest_number * candidate_side->rest_number > MOST_PAIRS) {
            done = TO_PYTHON;
        } else {
            done = align_similar(pair, node, item_node, &alignment);
            if (done == TO_PYTHON) {
                done = align_by_python(pair, node, &alignment, expected);
            }
        }
    }
    if (done == DONE) {
        item_node = item_of(pair->walker, node);
        done = item_node != NULL  ? compare_items(pair, node, item_node, &alignment)
               : PyErr_Occurred() ? FAILED
                                  : TO_PYTHON;
    }
    free_alignment(&alignment);
    return done;
}
