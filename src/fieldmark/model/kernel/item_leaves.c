/* The leaves of items without an equal: folded text, numbers and booleans, as rules read them.

   Invariants: all memory belongs to the `Search` and is freed with it; what a rule makes of a leaf
   is asked from Python once for each different value, within the limits on work.

   Specified by `all_leaves` and `drop_unshared` in align/leaves.py, and by the rules in
   align/item_similarity.py. */

#include "kernel.h"

#define FIRST_WIDE 128 /* the number of the first character beyond ASCII */

/* Memory for a search, or NULL for an error. */
void *
take(Search *search, size_t number, size_t size)
{
    size_t unit = sizeof(Aligned), units;
    Block *block;
    if (number > (PY_SSIZE_T_MAX - sizeof *block - unit) / size) {
        PyErr_NoMemory();
        return NULL;
    }
    units = (number * size + unit - 1) / unit;
    if (units <= SPACE / unit - search->space_used) {
        void *taken = &search->space[search->space_used];
        search->space_used += units;
        return taken;
    }
    block = PyMem_Malloc(sizeof *block + number * size);
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = search->blocks;
    search->blocks = block;
    return block->bytes;
}

/* Free all memory of a search. */
void
free_search(Search *search)
{
    while (search->blocks != NULL) {
        Block *block = search->blocks;
        search->blocks = block->next;
        PyMem_Free(block);
    }
    for (size_t i = 0; i < search->path_number; i++) {
        Py_XDECREF(search->paths[i].leaves);
    }
    PyMem_Free(search->edges);
}

/* The number of the key of a token among all keys; `guess` is a probable one. NOWHERE if there
   are too many keys. */
static uint32_t
path_of(Search *search, const Byte *bytes, const Token *token, size_t guess)
{
    for (size_t i = 0; i < search->path_number; i++) {
        size_t index = (guess + i) % search->path_number;
        if (is_same_key(bytes, token, search->paths[index].bytes, search->paths[index].token)) {
            return (uint32_t)index;
        }
    }
    if (search->path_number == MOST_PATHS) {
        return NOWHERE;
    }
    search->paths[search->path_number].token = token;
    search->paths[search->path_number].bytes = bytes;
    search->paths[search->path_number].sides = 0;
    search->paths[search->path_number].rule = NULL;
    search->paths[search->path_number].leaves = NULL;
    search->paths[search->path_number].only_odd = 0;
    search->paths[search->path_number].grouped_number = 0;
    return (uint32_t)search->path_number++;
}

/* Whether a key is one of the match fields, which are all keys if there are none. */
static int
is_field(const Node *node, const Byte *bytes, const Token *token)
{
    if (node->fields == Py_None) {
        return 1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node->fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(node->fields, i);
        if (PyBytes_GET_SIZE(field) == (Py_ssize_t)token->key_length
            && memcmp(PyBytes_AS_STRING(field), bytes + token->key, token->key_length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The number that stands for a character beyond ASCII; 256 if there are too many. */
static unsigned
number_wide(Search *search, Py_UCS4 letter)
{
    size_t number = 0;
    while (number < search->wide_number && search->wide[number] != letter) {
        number++;
    }
    if (number == search->wide_number && number < MOST_WIDE) {
        search->wide[search->wide_number++] = letter;
    }
    return FIRST_WIDE + (unsigned)number;
}

/* Whether a character of two bytes, given by the second one after 0xC3, is folded as ASCII is:
   U+00C0 to U+00FF, without the multiplication sign and the sharp s. */
static int
is_latin(Byte second)
{
    return second != 0x97 && second != 0x9F;
}

/* Fold the text of a leaf (`folded`) if it consists of ASCII and Latin letters: without escapes,
   its only white space are blanks. TO_PYTHON for all other text. */
static int
fold(Search *search, Leaf *leaf, const Byte *bytes, Byte **characters)
{
    const Byte *start = bytes + leaf->token->start + 1;
    const Byte *end = start + leaf->token->length - 2;
    Byte *to = *characters;
    while (start < end && *start == ' ') {
        start++;
    }
    while (start < end && end[-1] == ' ') {
        end--;
    }
    for (; start < end; start++) {
        unsigned letter = *start;
        if (letter >= 'A' && letter <= 'Z') {
            letter += 32;
        } else if (letter >= FIRST_WIDE) {
            if (letter != 0xC3 || !is_latin(start[1])) {
                return TO_PYTHON;
            }
            start++;
            letter = number_wide(search, 0xE0u | (*start & 0x1Fu));
            if (letter >= FIRST_WIDE + MOST_WIDE) {
                return TO_PYTHON;
            }
        }
        *to++ = (Byte)letter;
    }
    leaf->text = *characters;
    leaf->length = (uint32_t)(to - *characters);
    leaf->hash = hash_bytes(leaf->text, leaf->length);
    *characters = to;
    return DONE;
}

/* Set the text of a leaf to a string; TO_PYTHON if there are too many characters. */
static int
set_text(Search *search, Leaf *leaf, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Byte *letters;
    if (length > LONGEST_TEXT) {
        return TO_PYTHON;
    }
    letters = TAKE(search, Byte, (size_t)length);
    if (letters == NULL) {
        return FAILED;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(text, i);
        if (letter >= FIRST_WIDE) {
            letter = number_wide(search, letter);
            if (letter >= FIRST_WIDE + MOST_WIDE) {
                return TO_PYTHON;
            }
        }
        letters[i] = (Byte)letter;
    }
    leaf->text = letters;
    leaf->length = (uint32_t)length;
    leaf->hash = hash_bytes(leaf->text, leaf->length);
    return DONE;
}

/* Let Python fold the text of a leaf. */
static int
fold_by_python(Search *search, Leaf *leaf, const Document *document)
{
    PyObject *text = value_of(document, leaf->token), *folded = NULL;
    int done = FAILED;
    if (text != NULL) {
        folded = PyObject_CallOneArg(search->pair->walker->fold, text);
    }
    if (folded != NULL && PyUnicode_Check(folded)) {
        done = set_text(search, leaf, folded);
    } else if (folded != NULL) {
        PyErr_SetString(PyExc_TypeError, "folded text must be a string");
    }
    Py_XDECREF(text);
    Py_XDECREF(folded);
    return done;
}

/* Set the number of a leaf, and its hash. */
static void
set_number(Leaf *leaf, double number)
{
    leaf->number = number;
    leaf->hash = hash_real(number);
}

/* `leaves_of` for a flat object; empty values are no leaves. */
static int
add_leaves(Search *search, Item *item, uint32_t owner, const Document *document,
           const Token *object, int side, Leaf **leaves, Byte **characters)
{
    const Byte *bytes = BYTES(document);
    const Token *member = object + 1;
    item->leaves = *leaves;
    for (uint32_t i = 0; i < object->is.count; i++) {
        const Token *token = member;
        Leaf *leaf = *leaves;
        member = &document->tokens[member->next];
        if (token->type == IS_NULL || !is_field(search->node, bytes, token)) {
            continue;
        }
        leaf->token = token;
        leaf->owner = owner;
        leaf->hash = token->hash;
        leaf->number = 0.0;
        leaf->length = 0;
        if (token->type == IS_TEXT) {
            int done = TO_PYTHON;
            if (!(token->flags & ESCAPED)) {
                done = fold(search, leaf, bytes, characters);
            }
            if (done == TO_PYTHON) {
                done = fold_by_python(search, leaf, document);
            }
            if (done != DONE) {
                return done;
            }
            if (leaf->length > LONGEST_TEXT) {
                return TO_PYTHON;
            }
            if (leaf->length == 0) {
                continue;
            }
        } else if (token->type == IS_WHOLE || token->type == IS_REAL) {
            /* As a float, the first integer beyond the limit would equal it. */
            if (token->type == IS_REAL
                    ? fabs(token->is.real) > (double)LARGEST_EXACT
                    : token->is.whole > LARGEST_EXACT || token->is.whole < -LARGEST_EXACT) {
                return TO_PYTHON;
            }
            set_number(leaf, token->type == IS_REAL ? token->is.real : (double)token->is.whole);
        }
        leaf->path = path_of(search, bytes, token, i);
        if (leaf->path == NOWHERE) {
            return TO_PYTHON;
        }
        search->paths[leaf->path].sides |= side;
        (*leaves)++;
    }
    item->number = (uint32_t)(*leaves - item->leaves);
    return DONE;
}

/* Make room for the leaves of the rest; leave items that are not flat objects to Python. */
int
make_search(Search *search)
{
    const Side *sides[2] = {&search->alignment->expected, &search->alignment->candidate};
    size_t number = 0, leaves = 0, characters[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const Side *side = sides[i];
        number += side->rest_number;
        for (uint32_t j = 0; j < side->rest_number; j++) {
            const Token *item = side->items[side->rest[j]];
            if (item->type != IS_OBJECT || (item->flags & NESTED)) {
                return TO_PYTHON;
            }
            leaves += item->is.count;
            characters[i] += item->length;
        }
    }
    search->character_pairs = (double)characters[0] * (double)characters[1];
    if (search->character_pairs > MOST_CHARACTER_PAIRS) {
        return TO_PYTHON;
    }
    search->items = TAKE(search, Item, number);
    search->leaves = TAKE(search, Leaf, leaves);
    search->graded = TAKE(search, uint32_t, leaves);
    search->characters = TAKE(search, Byte, characters[0] + characters[1]);
    return search->items == NULL || search->leaves == NULL || search->graded == NULL
                   || search->characters == NULL
               ? FAILED
               : DONE;
}

/* Read the leaves of the rest of both sides (`all_leaves`). */
int
read_leaves(Search *search)
{
    const Side *sides[2] = {&search->alignment->expected, &search->alignment->candidate};
    Item *item = search->items;
    Leaf *leaves = search->leaves;
    Byte *characters = search->characters;
    for (int i = 0; i < 2; i++) {
        const Side *side = sides[i];
        for (uint32_t j = 0; j < side->rest_number; j++) {
            const Token *object = side->items[side->rest[j]];
            int done =
                add_leaves(search, item, j, side->document, object, 1 + i, &leaves, &characters);
            if (done != DONE) {
                return done;
            }
            item++;
        }
    }
    return DONE;
}

/* The value of a leaf that is no boolean. */
PyObject *
leaf_value(const Search *search, const Leaf *leaf)
{
    Py_UCS4 *letters;
    PyObject *text;
    if (leaf->token->type == IS_WHOLE) {
        return PyLong_FromLongLong(leaf->token->is.whole);
    }
    if (leaf->token->type == IS_REAL) {
        return PyFloat_FromDouble(leaf->token->is.real);
    }
    letters = PyMem_New(Py_UCS4, leaf->length);
    if (letters == NULL) {
        return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < leaf->length; i++) {
        letters[i] =
            leaf->text[i] < FIRST_WIDE ? leaf->text[i] : search->wide[leaf->text[i] - FIRST_WIDE];
    }
    text = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, letters, leaf->length);
    PyMem_Free(letters);
    return text;
}

/* Compare two leaves by their numbers for sorting. */
static int
by_size(const void *left, const void *right)
{
    double left_number = (*(Leaf *const *)left)->number,
           right_number = (*(Leaf *const *)right)->number;
    return (left_number > right_number) - (left_number < right_number);
}

/* Whether `unified` may change a text: it has two blanks in a row, unprintable characters, or
   characters beyond Latin letters. */
static int
is_odd(const Search *search, const Leaf *leaf)
{
    for (uint32_t i = 0; i < leaf->length; i++) {
        Byte letter = leaf->text[i];
        if (letter >= FIRST_WIDE) {
            Py_UCS4 wide = search->wide[letter - FIRST_WIDE];
            if (wide < 0xE0 || wide > 0xFF) {
                return 1;
            }
        } else if (letter == 0x7F || letter < ' '
                   || (i > 0 && letter == ' ' && leaf->text[i - 1] == ' ')) {
            return 1;
        }
    }
    return 0;
}

/* Whether a text may be an ISO date, which has a hyphen after its year. */
static int
may_be_date(const Leaf *leaf)
{
    return leaf->length > 4 && leaf->text[4] == '-';
}

/* `Fuzzy.item_leaves` for text that it does not change: 1, or 0 to ask it, with `only_odd` about
   odd text only, because it treats texts one by one unless one may be a date. */
static int
are_normalized(const Search *search, size_t path, int *only_odd)
{
    int normalized = 1;
    *only_odd = 1;
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; k < item->number; k++) {
            const Leaf *leaf = &item->leaves[k];
            if (leaf->path == path) {
                *only_odd &= leaf->token->type == IS_TEXT && !may_be_date(leaf);
                normalized &= *only_odd && !is_odd(search, leaf);
            }
        }
    }
    return normalized;
}

/* Whether a rule with a tolerance matches two numbers (`Tolerance.admits`); negative for an
   error. The comparator decides if floats are too close to the limit. */
int
is_within_tolerance(const Search *search, const Leaf *expected, const Leaf *candidate)
{
    const Node *rule = search->paths[expected->path].rule;
    double size = fabs(expected->number), gap = fabs(expected->number - candidate->number);
    double limit = rule->relative * size, slack;
    PyObject *expected_value, *candidate_value, *comparison = NULL;
    int matched = -1;
    if (gap == 0.0) {
        return 1;
    }
    limit = size == 0.0 ? rule->at_zero : limit > rule->absolute ? limit : rule->absolute;
    slack = (size + fabs(candidate->number) + limit) * SLACK + TINY;
    if (gap + slack < limit || gap > limit + slack) {
        return gap < limit;
    }
    expected_value = leaf_value(search, expected);
    candidate_value = expected_value == NULL ? NULL : leaf_value(search, candidate);
    if (candidate_value != NULL) {
        comparison =
            PyObject_CallFunctionObjArgs(rule->rule_compare, expected_value, candidate_value, NULL);
    }
    if (comparison != NULL && PyTuple_Check(comparison) && PyTuple_GET_SIZE(comparison) > 0) {
        matched = PyObject_IsTrue(PyTuple_GET_ITEM(comparison, 0)); /* Comparison.matched */
    } else if (comparison != NULL) {
        PyErr_SetString(PyExc_TypeError, "a comparator must return a comparison");
    }
    Py_XDECREF(expected_value);
    Py_XDECREF(candidate_value);
    Py_XDECREF(comparison);
    return matched;
}

/* Replace a number that is in the group of others (`Tolerance.groups`): 1, 0 if it is close to some
   of them only, or -1 for an error. The leaves of the group are in order, and there are `size`. */
static int
join_group(const Search *search, Leaf **group, size_t *size, Leaf *leaf)
{
    int near = 0, both = 1;
    for (size_t i = 0; i < *size; i++) {
        int forward = is_within_tolerance(search, group[i], leaf);
        int backward = forward < 0 ? forward : is_within_tolerance(search, leaf, group[i]);
        if (backward < 0) {
            return -1;
        }
        near |= forward | backward;
        both &= forward & backward;
    }
    if (near && !both) {
        return 0;
    }
    *size = both ? *size : 0;
    group[(*size)++] = leaf;
    return 1;
}

/* `NumericTolerance.item_leaves`: give numbers within the tolerance of each other the same value; 0
   to ask it, and -1 for an error. */
static int
group_numbers(Search *search, size_t path)
{
    const Node *rule = search->paths[path].rule;
    Leaf **leaves = TAKE(search, Leaf *, search->number);
    Leaf **group = TAKE(search, Leaf *, search->number);
    size_t count = 0, size = 0;
    double limit, *firsts;
    int distant = 1, joined = 1;
    if (leaves == NULL || group == NULL) {
        return -1;
    }
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; k < item->number; k++) {
            Leaf *leaf = &item->leaves[k];
            if (leaf->path == path) {
                if (leaf->token->type != IS_WHOLE && leaf->token->type != IS_REAL) {
                    return 0;
                }
                leaves[count++] = leaf;
            }
        }
    }
    if (count == 0) {
        return 1;
    }
    qsort(leaves, count, sizeof *leaves, by_size);
    limit = fmax(1.0, fmax(fabs(leaves[0]->number), fabs(leaves[count - 1]->number)));
    limit = fmax(fmax(rule->relative * limit, rule->absolute), TINY) * LIMIT_MARGIN;
    for (size_t i = 1; distant && i < count; i++) {
        double gap = leaves[i]->number - leaves[i - 1]->number;
        distant = gap == 0.0 || gap > limit;
    }
    if (distant) {
        return 1;
    }
    firsts = TAKE(search, double, count);
    if (firsts == NULL) {
        return -1;
    }
    for (size_t i = 0; joined > 0 && i < count; i++) {
        if (i == 0 || leaves[i]->number != leaves[i - 1]->number) {
            joined = join_group(search, group, &size, leaves[i]);
        }
        firsts[i] = group[0]->number;
    }
    if (joined == 0) {
        search->by_rules = 1;
    }
    search->paths[path].grouped = leaves;
    search->paths[path].firsts = firsts;
    search->paths[path].grouped_number = count;
    return joined < 0 ? -1 : 1;
}

/* Whether a leaf is at a path, and odd if only such are wanted. */
static int
is_asked(const Search *search, const Leaf *leaf, size_t path, int only_odd)
{
    return leaf->path == path && (!only_odd || is_odd(search, leaf));
}

/* The values of all leaves at a path, or of the odd ones; NULL without an error if one is a
   boolean. */
static PyObject *
path_values(const Search *search, size_t path, int only_odd)
{
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values != NULL && i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; values != NULL && k < item->number; k++) {
            const Leaf *leaf = &item->leaves[k];
            PyObject *value;
            if (!is_asked(search, leaf, path, only_odd)) {
                continue;
            }
            value = leaf->token->type < IS_WHOLE ? NULL : leaf_value(search, leaf);
            if (value == NULL || PyList_Append(values, value) < 0) {
                Py_CLEAR(values);
            }
            Py_XDECREF(value);
        }
    }
    return values;
}

/* Ask the rule of a path whether its leaves are as similar as by default, perhaps after it has
   replaced them; if not, all rules are applied to pairs of leaves. */
static int
ask_rule(Search *search, size_t path_index)
{
    Path *path = &search->paths[path_index];
    PyObject *values = path_values(search, path_index, path->only_odd), *answer;
    if (values == NULL) {
        return PyErr_Occurred() ? FAILED : TO_PYTHON;
    }
    answer = PyObject_CallOneArg(path->rule->leaf_rule, values);
    if (answer == Py_None) {
        search->by_rules = 1;
    } else if (answer != NULL && answer != values) {
        path->leaves = PySequence_List(answer);
        if (path->leaves != NULL && PyList_GET_SIZE(path->leaves) != PyList_GET_SIZE(values)) {
            PyErr_SetString(PyExc_ValueError, "a rule must keep the number of leaves");
            Py_CLEAR(answer);
        }
    }
    Py_DECREF(values);
    Py_XDECREF(answer);
    return answer == NULL || PyErr_Occurred() ? FAILED : DONE;
}

/* Replace the leaves at a path as its rule says. */
static int
replace_leaves(Search *search, size_t path)
{
    PyObject *leaves = search->paths[path].leaves;
    Py_ssize_t next = 0;
    int done = DONE;
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; done == DONE && k < item->number; k++) {
            Leaf *leaf = &item->leaves[k];
            PyObject *value;
            if (!is_asked(search, leaf, path, search->paths[path].only_odd)) {
                continue;
            }
            value = PyList_GET_ITEM(leaves, next++);
            if (leaf->token->type == IS_TEXT && PyUnicode_Check(value)) {
                done = set_text(search, leaf, value);
            } else if (leaf->token->type != IS_TEXT
                       && (PyFloat_CheckExact(value) || PyLong_CheckExact(value))) {
                double number = PyFloat_AsDouble(value);
                if (number == -1.0 && PyErr_Occurred()) {
                    return FAILED;
                }
                set_number(leaf, number);
            } else {
                done = TO_PYTHON; /* such as a day */
            }
        }
    }
    return done;
}

/* Whether the leaves at a path are such that their rule can be applied here. */
static int
can_apply(const Search *search, size_t path_index)
{
    const Path *path = &search->paths[path_index];
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; k < item->number; k++) {
            const Leaf *leaf = &item->leaves[k];
            int type = leaf->token->type;
            if (leaf->path != path_index) {
                continue;
            }
            if (path->rule->keeps_text
                    ? type != IS_TEXT || (path->leaves == NULL && is_odd(search, leaf))
                          || may_be_date(leaf)
                    : path->rule->absolute < 0.0 || (type != IS_WHOLE && type != IS_REAL)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether `edges_of_many` would certainly not refuse to apply the rules to all pairs. */
static int
is_within_work(const Search *search)
{
    double pairs = (double)search->alignment->expected.rest_number
                   * (double)search->alignment->candidate.rest_number;
    double blocks = pairs / (MOST_SIMILARITIES / 2) + 1.0, work = search->character_pairs;
    for (size_t i = 0; i < search->path_number; i++) {
        work += COLUMN_COST * blocks + LEAF_COST * pairs;
        work += search->paths[i].rule != NULL ? CALL_COST * pairs : 0.0;
    }
    return work < MOST_WORK;
}

/* `apply_rules`: make leaves as similar by default as their rules say, or else use the rules. */
int
check_rules(Search *search)
{
    int done = DONE;
    for (size_t i = 0; done == DONE && i < search->path_number; i++) {
        Path *path = &search->paths[i];
        Node *child;
        if (path->sides != 3) {
            continue;
        }
        child = child_of(search->pair->walker, search->item_node, path->bytes, path->token, i);
        if (child == NULL) {
            return FAILED;
        }
        if (child->leaf_rule == Py_None) {
            continue;
        }
        if (child->leaf_rule == Py_False) {
            return TO_PYTHON;
        }
        path->rule = child;
        if (child->keeps_text && are_normalized(search, i, &path->only_odd)) {
            continue;
        }
        if (child->absolute >= 0.0) {
            int grouped = group_numbers(search, i);
            if (grouped < 0) {
                return FAILED;
            }
            if (grouped) {
                continue;
            }
        }
        done = ask_rule(search, i);
    }
    if (search->by_rules && done == DONE && !is_within_work(search)) {
        return TO_PYTHON;
    }
    for (size_t i = 0; done == DONE && i < search->path_number; i++) {
        const Path *path = &search->paths[i];
        if (search->by_rules && path->rule != NULL && !can_apply(search, i)) {
            return TO_PYTHON;
        }
        for (size_t k = 0; !search->by_rules && k < path->grouped_number; k++) {
            set_number(path->grouped[k], path->firsts[k]);
        }
        if (path->leaves != NULL && (!search->by_rules || path->rule->keeps_text)) {
            done = replace_leaves(search, i);
        }
    }
    return done;
}

/* Whether an equal item has a leaf at a path: 1, 0, or -1 if that is left to Python. */
static int
has_leaf(const Document *document, const Token *object, const Path *path)
{
    const Byte *bytes = BYTES(document);
    const Token *member = object + 1;
    if (object->type != IS_OBJECT) {
        return 0;
    }
    for (uint32_t i = 0; i < object->is.count; i++) {
        if (is_same_key(bytes, member, path->bytes, path->token)) {
            int presence = presence_of(member);
            return presence == UNKNOWN || member->type >= IS_LIST ? -1 : presence == VALUE;
        }
        member = &document->tokens[member->next];
    }
    return 0;
}

/* `drop_unshared`: drop the leaves at paths where only one of the two lists has any. */
int
drop_unshared(Search *search)
{
    const Side *side = &search->alignment->expected;
    int dropped = 0;
    for (size_t i = 0; i < search->path_number; i++) {
        Path *path = &search->paths[i];
        for (uint32_t j = 0; path->sides != 3 && j < side->number; j++) {
            if (side->partners[j] != NOWHERE) {
                int has = has_leaf(side->document, side->items[j], path);
                if (has < 0) {
                    return TO_PYTHON;
                }
                path->sides = has ? 3 : path->sides;
            }
        }
        dropped |= path->sides != 3;
    }
    for (size_t j = 0; dropped && j < search->number; j++) {
        Item *item = &search->items[j];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < item->number; k++) {
            if (search->paths[item->leaves[k].path].sides == 3) {
                item->leaves[kept++] = item->leaves[k];
            }
        }
        item->number = kept;
    }
    return DONE;
}

/* Whether a path comes before another by its `repr`, in which a quote follows the key. */
static int
comes_before(const Path *left, const Path *right)
{
    uint32_t left_length = left->token->key_length, right_length = right->token->key_length;
    const Byte *left_key = left->bytes + left->token->key,
               *right_key = right->bytes + right->token->key;
    for (uint32_t i = 0;; i++) {
        Byte left_byte = i < left_length ? left_key[i] : '\'',
             right_byte = i < right_length ? right_key[i] : '\'';
        if (left_byte != right_byte || i >= left_length) {
            return left_byte < right_byte;
        }
    }
}

/* Whether a leaf can be similar to another without being equal. */
int
is_graded(const Search *search, const Leaf *leaf)
{
    return leaf->token->type == IS_TEXT
           || (search->by_rules && search->paths[leaf->path].rule != NULL);
}

/* `_graded_paths`: such leaves of each item, in the order in which they are summed. */
int
list_graded(Search *search)
{
    uint32_t *graded = search->graded;
    for (size_t i = 0; i < search->path_number; i++) {
        const Path *path = &search->paths[i];
        for (uint32_t j = 0; path->sides == 3 && j < path->token->key_length; j++) {
            Byte byte = path->bytes[path->token->key + j];
            if (byte == '\'' || byte >= 0x7F) {
                return TO_PYTHON; /* its `repr` may have other quotes, or an escape */
            }
        }
    }
    for (size_t i = 0; i < search->number; i++) {
        Item *item = &search->items[i];
        item->graded = graded;
        item->graded_number = 0;
        for (uint32_t k = 0; k < item->number; k++) {
            uint32_t at = item->graded_number;
            if (!is_graded(search, &item->leaves[k])) {
                continue;
            }
            for (; at > 0
                   && comes_before(&search->paths[item->leaves[k].path],
                                   &search->paths[item->leaves[graded[at - 1]].path]);
                 at--) {
                graded[at] = graded[at - 1];
            }
            graded[at] = k;
            item->graded_number++;
        }
        graded += item->graded_number;
    }
    return DONE;
}

/* Whether folded text starts with an ISO date (`is_iso_date` in align/leaves.py). */
int
is_iso_date(const Leaf *leaf)
{
    const Byte *text = leaf->text;
    return leaf->length >= 10 && is_digit(text[0]) && is_digit(text[1]) && is_digit(text[2])
           && is_digit(text[3]) && text[4] == '-' && is_digit(text[5]) && is_digit(text[6])
           && text[7] == '-' && is_digit(text[8]) && is_digit(text[9])
           && (leaf->length == 10 || text[10] == 't' || text[10] == ' ');
}
