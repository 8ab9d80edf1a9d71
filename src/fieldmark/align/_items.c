/* Faster versions of the Python functions that pair equal items and extract their leaves.

   `pair` finds items with the same canonical text without creating it: it hashes the contents of
   items and compares those with the same hash. Hashes of strings and numbers are seeded, so
   collisions cannot be provoked by chosen input.

   All functions expect values as a JSON parser creates them. Anything unusual, such as an integer
   beyond 64 bits, a float that is not finite, a key that is not a string or a custom class, is left
   to the Python modules. No code of a document's classes is ever run, and no state is kept between
   calls. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MOST_LEVELS 32
#define LARGEST_PLAIN 9007199254740992.0  /* 2**53: integers up to here are exact as floats */
#define BEYOND_WHOLE 9223372036854775808.0  /* 2**63 */

/* ---- hashes: every function returns 0 for unusual values ---- */

typedef struct {
    uint64_t strict;  /* equal for items with the same text */
    uint64_t loose;   /* equal for items with the same value, such as 1 and 1.0 */
} Hash;

enum { OF_NULL = 1, OF_TRUE, OF_FALSE, OF_WHOLE, OF_FLOAT, OF_LIST, OF_OBJECT };

static int hash_value(PyObject *value, int levels, uint64_t seed, Hash *hash);

/* Mix two numbers into one; collisions are very unlikely. */
static uint64_t
mixed(uint64_t one, uint64_t other)
{
    uint64_t both = one * 0x9E3779B97F4A7C15u + other;
    both = (both ^ (both >> 30)) * 0xBF58476D1CE4E5B9u;
    both = (both ^ (both >> 27)) * 0x94D049BB133111EBu;
    return both ^ (both >> 31);
}

static Hash
one_hash(uint64_t both)
{
    Hash hash = {both, both};
    return hash;
}

/* Combine two hashes; usually the strict and the loose hash are equal. */
static Hash
joined(Hash outer, Hash inner)
{
    Hash hash = one_hash(mixed(outer.loose, inner.loose));
    if (outer.strict != outer.loose || inner.strict != inner.loose) {
        hash.strict = mixed(outer.strict, inner.strict);
    }
    return hash;
}

static int
hash_whole(PyObject *number, uint64_t seed, Hash *hash)
{
    int beyond;
    long long whole = PyLong_AsLongLongAndOverflow(number, &beyond);
    *hash = one_hash(mixed(seed + OF_WHOLE, (uint64_t)whole));
    return !beyond;
}

static int
hash_float(double number, uint64_t seed, Hash *hash)
{
    uint64_t bits;
    if (!isfinite(number)) {
        return 0;
    }
    memcpy(&bits, &number, sizeof bits);
    *hash = one_hash(mixed(seed + OF_FLOAT, bits));
    if (number >= -BEYOND_WHOLE && number < BEYOND_WHOLE && (double)(int64_t)number == number) {
        hash->loose = mixed(seed + OF_WHOLE, (uint64_t)(int64_t)number);
    }
    return 1;
}

static int
hash_list(PyObject *list, int levels, uint64_t seed, Hash *hash)
{
    *hash = one_hash(seed + OF_LIST);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        Hash inner;
        if (!hash_value(PyList_GET_ITEM(list, i), levels, seed, &inner)) {
            return 0;
        }
        *hash = joined(*hash, inner);
    }
    return 1;
}

/* A sum over the fields, so that order does not matter. */
static int
hash_object(PyObject *object, int levels, uint64_t seed, Hash *hash)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    Hash sum = {0, 0};
    while (PyDict_Next(object, &at, &key, &value)) {
        Hash inner;
        if (!PyUnicode_CheckExact(key) || !hash_value(value, levels, seed, &inner)) {
            return 0;
        }
        inner = joined(one_hash((uint64_t)PyObject_Hash(key)), inner);
        sum.strict += inner.strict;
        sum.loose += inner.loose;
    }
    *hash = joined(one_hash(seed + OF_OBJECT), sum);
    return 1;
}

static int
hash_value(PyObject *value, int levels, uint64_t seed, Hash *hash)
{
    if (PyUnicode_CheckExact(value)) {
        *hash = one_hash((uint64_t)PyObject_Hash(value));
        return 1;
    }
    if (PyFloat_CheckExact(value)) {
        return hash_float(PyFloat_AS_DOUBLE(value), seed, hash);
    }
    if (PyLong_CheckExact(value)) {
        return hash_whole(value, seed, hash);
    }
    if (PyDict_CheckExact(value)) {
        return levels > 0 && hash_object(value, levels - 1, seed, hash);
    }
    if (PyList_CheckExact(value)) {
        return levels > 0 && hash_list(value, levels - 1, seed, hash);
    }
    *hash = one_hash(mixed(seed, value == Py_None ? OF_NULL : value == Py_True ? OF_TRUE : OF_FALSE));
    return value == Py_None || PyBool_Check(value);
}

/* A secret seed of this process; 0 for an error. */
static int
find_seed(uint64_t *seed)
{
    PyObject *text = PyUnicode_FromString("items");
    if (text == NULL) {
        return 0;
    }
    *seed = (uint64_t)PyObject_Hash(text);
    Py_DECREF(text);
    return 1;
}

/* ---- same text: only for values that have a hash ---- */

static int same_value(PyObject *one, PyObject *other);

static int
same_text(PyObject *one, PyObject *other)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(one);
    return length == PyUnicode_GET_LENGTH(other) && PyUnicode_KIND(one) == PyUnicode_KIND(other)
           && memcmp(PyUnicode_DATA(one), PyUnicode_DATA(other),
                     (size_t)length * (size_t)PyUnicode_KIND(one)) == 0;
}

static int
same_float(PyObject *one, PyObject *other)
{
    double left = PyFloat_AS_DOUBLE(one), right = PyFloat_AS_DOUBLE(other);
    return memcmp(&left, &right, sizeof left) == 0;  /* 0.0 and -0.0 have different texts */
}

static int
same_list(PyObject *one, PyObject *other)
{
    Py_ssize_t number = PyList_GET_SIZE(one);
    if (number != PyList_GET_SIZE(other)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        if (!same_value(PyList_GET_ITEM(one, i), PyList_GET_ITEM(other, i))) {
            return 0;
        }
    }
    return 1;
}

/* Compare two objects in parallel as long as their keys are in the same order. */
static int
same_object(PyObject *one, PyObject *other)
{
    PyObject *key, *value, *other_key, *other_value;
    Py_ssize_t at = 0, other_at = 0;
    if (PyDict_GET_SIZE(one) != PyDict_GET_SIZE(other)) {
        return 0;
    }
    while (PyDict_Next(one, &at, &key, &value)) {
        if (!PyDict_Next(other, &other_at, &other_key, &other_value) || key != other_key) {
            other_value = PyDict_GetItemWithError(other, key);
        }
        if (other_value == NULL || !same_value(value, other_value)) {
            return 0;
        }
    }
    return 1;
}

static int
same_value(PyObject *one, PyObject *other)
{
    if (one == other) {
        return 1;
    }
    if (Py_TYPE(one) != Py_TYPE(other)) {
        return 0;
    }
    if (PyUnicode_CheckExact(one)) {
        return same_text(one, other);
    }
    if (PyFloat_CheckExact(one)) {
        return same_float(one, other);
    }
    if (PyLong_CheckExact(one)) {
        return PyLong_AsLongLong(one) == PyLong_AsLongLong(other);
    }
    if (PyDict_CheckExact(one)) {
        return same_object(one, other);
    }
    return PyList_CheckExact(one) && same_list(one, other);  /* null and booleans are singletons */
}

/* ---- chains: the indexes of a list in hash buckets, each bucket in order ---- */

#define NOWHERE (-1)

typedef struct {
    uint64_t mask;
    Py_ssize_t *first;  /* the first index of each bucket, or NOWHERE */
    Py_ssize_t *next;   /* the index after each index, or NOWHERE */
} Chains;

static void
empty_chains(Chains *chains)
{
    memset(chains->first, 0xFF, (size_t)(chains->mask + 1) * sizeof *chains->first);
}

static int
make_chains(Chains *chains, Py_ssize_t number)
{
    Py_ssize_t buckets = 1;
    while (buckets < number && buckets <= PY_SSIZE_T_MAX / 4) {
        buckets *= 2;
    }
    chains->mask = (uint64_t)buckets - 1;
    chains->first = PyMem_New(Py_ssize_t, buckets);
    chains->next = PyMem_New(Py_ssize_t, number);
    if (chains->first == NULL || chains->next == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    empty_chains(chains);
    return 1;
}

static void
free_chains(Chains *chains)
{
    PyMem_Free(chains->first);
    PyMem_Free(chains->next);
}

/* Prepend an index to its bucket: the last index of a list must be linked first. */
static void
link_place(Chains *chains, uint64_t hash, Py_ssize_t place)
{
    Py_ssize_t *first = &chains->first[hash & chains->mask];
    chains->next[place] = *first;
    *first = place;
}

/* ---- pairing ---- */

typedef struct {
    PyObject *items;
    Py_ssize_t number;
    Hash *hashes;
    Py_ssize_t *partners;  /* the index of each partner in the other list, or NOWHERE */
} Side;

static int
make_side(Side *side, PyObject *items)
{
    side->items = items;
    side->number = PyList_GET_SIZE(items);
    side->hashes = PyMem_New(Hash, side->number);
    side->partners = PyMem_New(Py_ssize_t, side->number);
    if (side->hashes == NULL || side->partners == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    memset(side->partners, 0xFF, (size_t)side->number * sizeof *side->partners);
    return 1;
}

static void
free_side(Side *side)
{
    PyMem_Free(side->hashes);
    PyMem_Free(side->partners);
}

static int
hash_items(Side *side, uint64_t seed)
{
    for (Py_ssize_t i = 0; i < side->number; i++) {
        if (!hash_value(PyList_GET_ITEM(side->items, i), MOST_LEVELS, seed, &side->hashes[i])) {
            return 0;
        }
    }
    return 1;
}

/* Pair an item with the first remaining item of the same text, and remove that from its chain. */
static void
pair_item(Side *expected, Side *candidate, Chains *chains, Py_ssize_t place)
{
    PyObject *item = PyList_GET_ITEM(expected->items, place);
    uint64_t hash = expected->hashes[place].strict;
    Py_ssize_t *link = &chains->first[hash & chains->mask];
    while (*link != NOWHERE) {
        Py_ssize_t other = *link;
        if (candidate->hashes[other].strict == hash
            && same_value(item, PyList_GET_ITEM(candidate->items, other))) {
            *link = chains->next[other];
            expected->partners[place] = other;
            candidate->partners[other] = place;
            return;
        }
        link = &chains->next[other];
    }
}

static void
pair_items(Side *expected, Side *candidate, Chains *chains)
{
    for (Py_ssize_t other = candidate->number - 1; other >= 0; other--) {
        link_place(chains, candidate->hashes[other].strict, other);
    }
    for (Py_ssize_t place = 0; place < expected->number; place++) {
        pair_item(expected, candidate, chains, place);
    }
}

/* Whether remaining items may have the same value. */
static int
any_alike(const Side *expected, const Side *candidate, Chains *chains)
{
    empty_chains(chains);
    for (Py_ssize_t other = candidate->number - 1; other >= 0; other--) {
        if (candidate->partners[other] == NOWHERE) {
            link_place(chains, candidate->hashes[other].loose, other);
        }
    }
    for (Py_ssize_t place = 0; place < expected->number; place++) {
        uint64_t hash = expected->hashes[place].loose;
        Py_ssize_t other = chains->first[hash & chains->mask];
        while (expected->partners[place] == NOWHERE && other != NOWHERE) {
            if (candidate->hashes[other].loose == hash) {
                return 1;
            }
            other = chains->next[other];
        }
    }
    return 0;
}

static PyObject *
list_of_partners(const Side *side)
{
    PyObject *list = PyList_New(side->number);
    for (Py_ssize_t place = 0; list != NULL && place < side->number; place++) {
        Py_ssize_t other = side->partners[place];
        PyObject *partner = other == NOWHERE ? Py_NewRef(Py_None) : PyLong_FromSsize_t(other);
        if (partner == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, place, partner);
        }
    }
    return list;
}

static PyObject *
list_of_places_left(const Side *side)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < side->number; i++) {
        PyObject *place;
        if (side->partners[i] != NOWHERE) {
            continue;
        }
        place = PyLong_FromSsize_t(i);
        if (place == NULL || PyList_Append(list, place) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(place);
    }
    return list;
}

static PyObject *
paired(Side *expected, Side *candidate, Chains *chains)
{
    PyObject *partners, *places, *others, *all = NULL;
    pair_items(expected, candidate, chains);
    partners = list_of_partners(expected);
    places = list_of_places_left(expected);
    others = list_of_places_left(candidate);
    if (partners != NULL && places != NULL && others != NULL) {
        int alike = any_alike(expected, candidate, chains);
        all = PyTuple_Pack(4, partners, places, others, alike ? Py_True : Py_False);
    }
    Py_XDECREF(partners);
    Py_XDECREF(places);
    Py_XDECREF(others);
    return all;
}

PyDoc_STRVAR(pair_doc,
"pair(expected, candidate) -> (partners, places, others, may_be_equal), or None\n\n"
"Items with the same text are partners, the first with the first; `places` and `others` are the\n"
"remaining indexes. Only if `may_be_equal`, some of them may have the same value.");

static PyObject *
pair(PyObject *module, PyObject *args)
{
    PyObject *given, *other, *found = NULL;
    Side expected = {0}, candidate = {0};
    Chains chains = {0};
    uint64_t seed;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &given, &other)) {
        return NULL;
    }
    if (!PyList_CheckExact(given) || !PyList_CheckExact(other)) {
        Py_RETURN_NONE;
    }
    if (find_seed(&seed) && make_side(&expected, given) && make_side(&candidate, other)
        && make_chains(&chains, candidate.number)) {
        if (hash_items(&expected, seed) && hash_items(&candidate, seed)) {
            found = paired(&expected, &candidate, &chains);
        } else {
            found = Py_NewRef(Py_None);
        }
    }
    free_side(&expected);
    free_side(&candidate);
    free_chains(&chains);
    return found;
}

/* ---- cells: functions return 1, 0 for unusual values, -1 for an error ---- */

typedef struct {
    PyObject *fields;    /* the keys that items are compared on, or None for all */
    Py_ssize_t longest;  /* the longest text compared by characters */
    PyObject *folded;    /* folds a string */
    PyObject *cells_of;  /* handles unusual items */
} Reading;

/* An ASCII string, stripped and in lower case; NULL for an error. */
static PyObject *
folded_ascii(PyObject *text)
{
    const Py_UCS1 *letters = PyUnicode_1BYTE_DATA(text);
    Py_ssize_t start = 0, length = PyUnicode_GET_LENGTH(text), end = length;
    PyObject *folded;
    Py_ssize_t small;
    while (start < end && Py_UNICODE_ISSPACE(letters[start])) {
        start++;
    }
    while (end > start && Py_UNICODE_ISSPACE(letters[end - 1])) {
        end--;
    }
    small = start;
    while (small < end && (letters[small] < 'A' || letters[small] > 'Z')) {
        small++;
    }
    if (small == end && end - start == length) {
        return Py_NewRef(text);
    }
    folded = PyUnicode_New(end - start, 127);
    if (folded != NULL) {
        Py_UCS1 *written = PyUnicode_1BYTE_DATA(folded);
        for (Py_ssize_t i = start; i < end; i++) {
            int capital = letters[i] >= 'A' && letters[i] <= 'Z';
            written[i - start] = (Py_UCS1)(capital ? letters[i] + ('a' - 'A') : letters[i]);
        }
    }
    return folded;
}

static int
add_text(const Reading *reading, PyObject *cells, PyObject *path, PyObject *value)
{
    int added = 1;
    PyObject *cell, *text = PyUnicode_IS_ASCII(value)
                            ? folded_ascii(value)
                            : PyObject_CallOneArg(reading->folded, value);
    if (text == NULL || !PyUnicode_CheckExact(text)) {
        Py_XDECREF(text);
        return text == NULL ? -1 : 0;
    }
    if (PyUnicode_GET_LENGTH(text) > 0) {
        cell = PyUnicode_GET_LENGTH(text) > reading->longest ? PyTuple_Pack(1, text)
                                                             : Py_NewRef(text);
        added = cell != NULL && PyDict_SetItem(cells, path, cell) == 0 ? 1 : -1;
        Py_XDECREF(cell);
    }
    Py_DECREF(text);
    return added;
}

static int
is_plain_number(PyObject *value)
{
    double number;
    if (PyLong_CheckExact(value)) {
        int beyond;
        long long whole = PyLong_AsLongLongAndOverflow(value, &beyond);
        return !beyond && whole >= -(1LL << 53) && whole <= 1LL << 53;
    }
    if (!PyFloat_CheckExact(value)) {
        return 0;
    }
    number = PyFloat_AS_DOUBLE(value);
    return number >= -LARGEST_PLAIN && number <= LARGEST_PLAIN;
}

static int
add_cell(const Reading *reading, PyObject *cells, PyObject *path, PyObject *value)
{
    if (PyUnicode_CheckExact(value)) {
        int added;
        Py_INCREF(path);
        Py_INCREF(value);
        added = add_text(reading, cells, path, value);
        Py_DECREF(path);
        Py_DECREF(value);
        return added;
    }
    if (is_plain_number(value)) {
        return PyDict_SetItem(cells, path, value) == 0 ? 1 : -1;
    }
    return value == Py_None;
}

static int
add_all(const Reading *reading, PyObject *cells, PyObject *item)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int added = 1;
    while (added > 0 && PyDict_Next(item, &at, &key, &value)) {
        added = PyUnicode_CheckExact(key) ? add_cell(reading, cells, key, value) : 0;
    }
    return added;
}

/* The fields that an item is compared on, as long as all are among its keys. */
static int
add_fields(const Reading *reading, PyObject *cells, PyObject *item)
{
    int added = 1;
    for (Py_ssize_t i = 0; added > 0 && i < PyTuple_GET_SIZE(reading->fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(reading->fields, i);
        PyObject *value = PyDict_GetItemWithError(item, field);
        if (value == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
        added = add_cell(reading, cells, field, value);
    }
    return added;
}

static PyObject *
cells_of_item(const Reading *reading, PyObject *item)
{
    if (PyDict_CheckExact(item)) {
        PyObject *cells = PyDict_New();
        int added = -1;
        if (cells != NULL) {
            added = reading->fields == Py_None ? add_all(reading, cells, item)
                                               : add_fields(reading, cells, item);
        }
        if (added > 0) {
            return cells;
        }
        Py_XDECREF(cells);
        if (added < 0) {
            return NULL;
        }
    }
    return PyObject_CallFunctionObjArgs(reading->cells_of, item, reading->fields, NULL);
}

PyDoc_STRVAR(cells_doc,
"cells(items, fields, longest, folded, cells_of) -> the cells of each item\n\n"
"An item that is not a flat object of strings and numbers is passed to `cells_of(item, fields)`.");

static PyObject *
cells(PyObject *module, PyObject *args)
{
    PyObject *items, *all;
    Reading reading;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OnOO", &PyList_Type, &items, &reading.fields, &reading.longest,
                          &reading.folded, &reading.cells_of)) {
        return NULL;
    }
    if (reading.fields != Py_None && !PyTuple_CheckExact(reading.fields)) {
        PyErr_SetString(PyExc_TypeError, "fields must be a tuple");
        return NULL;
    }
    all = PyList_New(0);
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(items); i++) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(items, i));
        PyObject *made = cells_of_item(&reading, item);
        if (made == NULL || PyList_Append(all, made) < 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(made);
        Py_DECREF(item);
    }
    return all;
}

/* Whether a list contains only dicts of cells; sets an error if not. */
static int
check_cells(PyObject *items)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        if (!PyDict_CheckExact(PyList_GET_ITEM(items, i))) {
            PyErr_SetString(PyExc_TypeError, "the cells of an item must be a dict");
            return 0;
        }
    }
    return 1;
}

PyDoc_STRVAR(largest_doc,
"largest(items, leaf) -> the characters of the largest item, plus `leaf` for each leaf");

static PyObject *
largest(PyObject *module, PyObject *args)
{
    PyObject *items, *path, *cell;
    Py_ssize_t leaf, most = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &items, &leaf) || !check_cells(items)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        Py_ssize_t at = 0, size = 0;
        while (PyDict_Next(PyList_GET_ITEM(items, i), &at, &path, &cell)) {
            size += leaf + (PyUnicode_CheckExact(cell) ? PyUnicode_GET_LENGTH(cell) : 0);
        }
        most = size > most ? size : most;
    }
    return PyLong_FromSsize_t(most);
}

/* ---- near pairs: which items have a leaf, and how many leaves two items share ---- */

typedef struct {
    uint64_t hash;
    PyObject *path;
    PyObject *cell;
    Py_ssize_t holder;  /* the first item with this leaf */
} Leaf;

typedef struct {
    Py_ssize_t place;
    Py_ssize_t next;    /* or NOWHERE */
} Holder;

typedef struct {
    PyObject *expected;
    PyObject *candidate;
    double share;           /* the share of leaves that near items have in common */
    double *reach;          /* the most that unequal leaves of each expected item can add */
    Py_ssize_t smallest;    /* the number of leaves of each candidate item */
    Chains chains;          /* of distinct leaves */
    Leaf *leaves;
    Py_ssize_t known;       /* leaves so far */
    Holder *holders;
    Py_ssize_t *counts;     /* for each candidate item, the leaves shared with the current item */
    Py_ssize_t *touched;    /* the indexes with counts, in order of occurrence */
} Search;

static void
free_search(Search *search)
{
    PyMem_Free(search->reach);
    free_chains(&search->chains);
    PyMem_Free(search->leaves);
    PyMem_Free(search->holders);
    PyMem_Free(search->counts);
    PyMem_Free(search->touched);
}

static int
make_search(Search *search)
{
    Py_ssize_t number = PyList_GET_SIZE(search->expected);
    Py_ssize_t others = PyList_GET_SIZE(search->candidate), leaves = 0;
    search->smallest = PY_SSIZE_T_MAX;
    for (Py_ssize_t i = 0; i < others; i++) {
        Py_ssize_t size = PyDict_GET_SIZE(PyList_GET_ITEM(search->candidate, i));
        leaves += size;
        search->smallest = size < search->smallest ? size : search->smallest;
    }
    search->reach = PyMem_New(double, number);
    search->leaves = PyMem_New(Leaf, leaves);
    search->holders = PyMem_New(Holder, leaves);
    search->counts = PyMem_New(Py_ssize_t, others);
    search->touched = PyMem_New(Py_ssize_t, others);
    if (search->reach == NULL || search->leaves == NULL || search->holders == NULL
        || search->counts == NULL || search->touched == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    memset(search->counts, 0, (size_t)others * sizeof *search->counts);
    return make_chains(&search->chains, leaves);
}

static int
hash_leaf(PyObject *path, PyObject *cell, uint64_t *hash)
{
    Py_hash_t own = PyObject_Hash(path), inner = own == -1 ? -1 : PyObject_Hash(cell);
    *hash = mixed((uint64_t)own, (uint64_t)inner);
    return inner != -1;
}

/* Find the number of a leaf, or NOWHERE; 0 for an error. */
static int
find_leaf(const Search *search, uint64_t hash, PyObject *path, PyObject *cell, Py_ssize_t *found)
{
    *found = search->chains.first[hash & search->chains.mask];
    while (*found != NOWHERE) {
        const Leaf *leaf = &search->leaves[*found];
        if (leaf->hash == hash) {
            int same = PyObject_RichCompareBool(leaf->path, path, Py_EQ);
            if (same > 0) {
                same = PyObject_RichCompareBool(leaf->cell, cell, Py_EQ);
            }
            if (same != 0) {
                return same > 0;
            }
        }
        *found = search->chains.next[*found];
    }
    return 1;
}

/* Index the items of all leaves, from last to first; 0 for an error. */
static int
note_holders(Search *search)
{
    PyObject *path, *cell;
    Py_ssize_t noted = 0;
    for (Py_ssize_t other = PyList_GET_SIZE(search->candidate) - 1; other >= 0; other--) {
        Py_ssize_t at = 0, number;
        while (PyDict_Next(PyList_GET_ITEM(search->candidate, other), &at, &path, &cell)) {
            uint64_t hash;
            if (!hash_leaf(path, cell, &hash) || !find_leaf(search, hash, path, cell, &number)) {
                return 0;
            }
            if (number == NOWHERE) {
                Leaf leaf = {hash, path, cell, NOWHERE};
                number = search->known++;
                search->leaves[number] = leaf;
                link_place(&search->chains, hash, number);
            }
            search->holders[noted].place = other;
            search->holders[noted].next = search->leaves[number].holder;
            search->leaves[number].holder = noted++;
        }
    }
    return 1;
}

static int
may_be_near(const Search *search, Py_ssize_t place, Py_ssize_t shared, Py_ssize_t other_size)
{
    Py_ssize_t size = PyDict_GET_SIZE(PyList_GET_ITEM(search->expected, place));
    double least = search->share * (double)(size > other_size ? size : other_size);
    return (double)shared + search->reach[place] >= least;
}

/* Compute what strings may add, and how many items can be near without sharing a leaf. */
static Py_ssize_t
find_reach(Search *search, double unequal)
{
    PyObject *path, *cell;
    Py_ssize_t alone = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(search->expected); i++) {
        Py_ssize_t at = 0, texts = 0;
        while (PyDict_Next(PyList_GET_ITEM(search->expected, i), &at, &path, &cell)) {
            texts += PyUnicode_CheckExact(cell)
                     || !(PyFloat_CheckExact(cell) || PyLong_CheckExact(cell)
                          || PyTuple_CheckExact(cell));  /* a leaf with its own rule */
        }
        search->reach[i] = (double)texts * unequal;
        alone += may_be_near(search, i, 0, search->smallest);
    }
    return alone;
}

/* Count the leaves that others share with an item; return how many items were touched, or -1. */
static Py_ssize_t
count_shared(Search *search, Py_ssize_t place, int all)
{
    PyObject *path, *cell;
    Py_ssize_t touched = 0, at = 0, number;
    while (all && touched < PyList_GET_SIZE(search->candidate)) {
        search->touched[touched] = touched;
        touched++;
    }
    while (PyDict_Next(PyList_GET_ITEM(search->expected, place), &at, &path, &cell)) {
        uint64_t hash;
        if (!hash_leaf(path, cell, &hash) || !find_leaf(search, hash, path, cell, &number)) {
            return -1;
        }
        for (Py_ssize_t i = number == NOWHERE ? NOWHERE : search->leaves[number].holder;
             i != NOWHERE; i = search->holders[i].next) {
            Py_ssize_t other = search->holders[i].place;
            if (!all && search->counts[other] == 0) {
                search->touched[touched++] = other;
            }
            search->counts[other]++;
        }
    }
    return touched;
}

static int
append_near(PyObject *found, Py_ssize_t place, Py_ssize_t other, Py_ssize_t shared)
{
    PyObject *near = Py_BuildValue("nnn", place, other, shared);
    int appended = near != NULL && PyList_Append(found, near) == 0;
    Py_XDECREF(near);
    return appended;
}

/* Append the near items among those touched, and reset the counts. */
static int
append_touched(Search *search, PyObject *found, Py_ssize_t place, Py_ssize_t touched)
{
    for (Py_ssize_t i = 0; i < touched; i++) {
        Py_ssize_t other = search->touched[i], shared = search->counts[other];
        Py_ssize_t size = PyDict_GET_SIZE(PyList_GET_ITEM(search->candidate, other));
        search->counts[other] = 0;
        if (may_be_near(search, place, shared, size)
            && !append_near(found, place, other, shared)) {
            return 0;
        }
    }
    return 1;
}

/* The near pairs, None if more than `most` would have to be examined, NULL for an error. */
static PyObject *
search_near(Search *search, double unequal, Py_ssize_t most, Py_ssize_t tiny)
{
    Py_ssize_t number = PyList_GET_SIZE(search->expected);
    Py_ssize_t others = PyList_GET_SIZE(search->candidate);
    Py_ssize_t each = others == 0 ? number : most / others;  /* items that must all be examined */
    Py_ssize_t alone = find_reach(search, unequal);
    int all = number <= each && number * others <= tiny;
    PyObject *found;
    if (alone > each) {
        Py_RETURN_NONE;
    }
    if (!note_holders(search)) {
        return NULL;
    }
    found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < number; i++) {
        int everyone = all || may_be_near(search, i, 0, search->smallest);
        Py_ssize_t touched = count_shared(search, i, everyone);
        most -= touched;
        if (touched >= 0 && most < 0) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        if (touched < 0 || !append_touched(search, found, i, touched)) {
            Py_CLEAR(found);
        }
    }
    return found;
}

PyDoc_STRVAR(near_doc,
"near(expected, candidate, share, unequal, most, tiny) -> [(place, other, shared), ...] or None\n\n"
"The pairs whose shared leaves and strings may reach a share of their leaves, where a string that\n"
"differs adds at most `unequal`; None if more than `most` pairs would have to be examined.\n"
"Up to `tiny` pairs are all examined, in order.");

static PyObject *
near(PyObject *module, PyObject *args)
{
    PyObject *found = NULL;
    Search search = {0};
    double unequal;
    Py_ssize_t most, tiny;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!ddnn", &PyList_Type, &search.expected, &PyList_Type,
                          &search.candidate, &search.share, &unequal, &most, &tiny)
        || !check_cells(search.expected) || !check_cells(search.candidate)) {
        return NULL;
    }
    if (most < 0) {
        Py_RETURN_NONE;
    }
    if (make_search(&search)) {
        found = search_near(&search, unequal, most, tiny);
    }
    free_search(&search);
    return found;
}

/* ---- aligned pairs ---- */

PyDoc_STRVAR(rows_doc,
"rows(partners, similarities) -> [(place, other, similarity, equal), ...]\n\n"
"A row for each index with a partner; pairs without a given similarity are equal.");

static PyObject *
rows(PyObject *module, PyObject *args)
{
    PyObject *partners, *similarities, *one, *all;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &partners, &PyDict_Type, &similarities)) {
        return NULL;
    }
    one = PyFloat_FromDouble(1.0);
    all = one == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(partners); i++) {
        PyObject *partner = PyList_GET_ITEM(partners, i), *place, *similarity, *row = NULL;
        if (partner == Py_None) {
            continue;
        }
        place = PyLong_FromSsize_t(i);
        if (place != NULL) {
            similarity = PyDict_GetItemWithError(similarities, place);
            if (similarity != NULL) {
                row = PyTuple_Pack(4, place, partner, similarity, Py_False);
            } else if (!PyErr_Occurred()) {
                row = PyTuple_Pack(4, place, partner, one, Py_True);
            }
        }
        if (row == NULL || PyList_Append(all, row) < 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(row);
        Py_XDECREF(place);
    }
    Py_XDECREF(one);
    return all;
}

/* ---- the module ---- */

static PyMethodDef functions[] = {
    {"pair", pair, METH_VARARGS, pair_doc},
    {"cells", cells, METH_VARARGS, cells_doc},
    {"largest", largest, METH_VARARGS, largest_doc},
    {"near", near, METH_VARARGS, near_doc},
    {"rows", rows, METH_VARARGS, rows_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fieldmark.align._items",
    .m_doc = "Pairing of equal items, and extraction of leaves.",
    .m_size = 0,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__items(void)
{
    return PyModule_Create(&definition);
}
