/* The Python module: the class `Walker`, which compares pairs of documents under one plan, the
   functions of the other files, and the constants that Python has too.

   Invariants: `Walker.compare` returns outcomes for every pair, from the walk or from the Python
   function that it is given; a failure of Python is never lost.

   Used by plan/kernel_walk.py, and tested against it in tests/laws/test_laws_kernel.py. */

#include "kernel.h"

/* Free a walker. */
static void
walker_dealloc(Walker *walker)
{
    free_node(walker->root);
    Py_XDECREF(walker->describe);
    Py_XDECREF(walker->compare);
    Py_XDECREF(walker->classify);
    Py_XDECREF(walker->record);
    Py_XDECREF(walker->record_item);
    Py_XDECREF(walker->similarity);
    Py_XDECREF(walker->outcomes);
    Py_XDECREF(walker->matched);
    Py_XDECREF(walker->missing);
    Py_XDECREF(walker->fold);
    Py_XDECREF(walker->child);
    Py_XDECREF(walker->item);
    Py_XDECREF(walker->any_index);
    Py_XDECREF(walker->different);
    Py_XDECREF(walker->wrong_type);
    Py_XDECREF(walker->extra);
    Py_XDECREF(walker->extra_in_list);
    Py_TYPE(walker)->tp_free((PyObject *)walker);
}

/* Find where Outcomes have their attributes, which are slots. */
static int
find_slots(Walker *walker)
{
    static const char *const names[] = {"cells", "comparisons", "items", "fallback", "times"};
    if (!PyType_Check(walker->outcomes)) {
        PyErr_SetString(PyExc_TypeError, "outcomes must be a class");
        return 0;
    }
    for (int i = 0; i < 5; i++) {
        PyObject *slot = PyObject_GetAttrString(walker->outcomes, names[i]);
        int is_slot = slot != NULL && Py_IS_TYPE(slot, &PyMemberDescr_Type);
        if (is_slot) {
            walker->slots[i] = ((PyMemberDescrObject *)slot)->d_member->offset;
        } else if (slot != NULL) {
            PyErr_SetString(PyExc_TypeError, "the attributes of outcomes must be slots");
        }
        Py_XDECREF(slot);
        if (!is_slot) {
            return 0;
        }
    }
    return 1;
}

/* `Outcomes` without fields. */
static PyObject *
make_outcomes(const Walker *walker)
{
    PyTypeObject *type = (PyTypeObject *)walker->outcomes;
    PyObject *outcomes = type->tp_alloc(type, 0);
    PyObject *values[] = {PyList_New(SMALL_CASE / 2), PyDict_New(), PyList_New(0),
                          Py_NewRef(Py_False), Py_NewRef(Py_None)};
    int done = outcomes != NULL;
    if (values[0] != NULL) {
        Py_SET_SIZE(values[0], 0); /* there is room for the cells of most cases */
    }
    for (int i = 0; i < 5; i++) {
        done = done && values[i] != NULL;
        if (outcomes != NULL) {
            *(PyObject **)((char *)outcomes + walker->slots[i]) = values[i];
        } else {
            Py_XDECREF(values[i]);
        }
    }
    if (!done) {
        Py_CLEAR(outcomes);
    }
    return outcomes;
}

/* Make a walker; `KernelWalk` passes the arguments, in plan/kernel_walk.py. */
static PyObject *
walker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *root, *objects[12];
    Py_buffer facts;
    int with_extras;
    Walker *walker;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "Opy*OOOOOOOOOOOO", &root, &with_extras, &facts, &objects[0],
                          &objects[1], &objects[2], &objects[3], &objects[4], &objects[5],
                          &objects[6], &objects[7], &objects[8], &objects[9], &objects[10],
                          &objects[11])) {
        return NULL;
    }
    if (facts.len != (Py_ssize_t)sizeof walker->facts) {
        PyErr_SetString(PyExc_ValueError, "there are 18 facts");
        PyBuffer_Release(&facts);
        return NULL;
    }
    walker = (Walker *)type->tp_alloc(type, 0);
    if (walker != NULL) {
        PyObject **fields[12] = {&walker->describe,  &walker->compare,     &walker->classify,
                                 &walker->record,    &walker->record_item, &walker->similarity,
                                 &walker->fold,      &walker->outcomes,    &walker->matched,
                                 &walker->different, &walker->wrong_type,  &walker->missing};
        for (int i = 0; i < 12; i++) {
            *fields[i] = Py_NewRef(objects[i]);
        }
        walker->with_extras = with_extras;
        memcpy(walker->facts, facts.buf, sizeof walker->facts);
        walker->child = PyUnicode_InternFromString("child");
        walker->item = PyUnicode_InternFromString("item");
        walker->any_index = PyLong_FromLong(-1);
        walker->extra = Py_BuildValue("(s)", "extra");
        walker->extra_in_list = Py_BuildValue("(ss)", "extra", "in_list");
        if (walker->child != NULL && walker->item != NULL && walker->any_index != NULL
            && walker->extra != NULL && walker->extra_in_list != NULL && find_slots(walker)) {
            walker->root = make_node(walker, root);
        }
        if (walker->root == NULL) {
            Py_CLEAR(walker);
        }
    }
    PyBuffer_Release(&facts);
    return (PyObject *)walker;
}

/* Compare two documents, of which the candidate may be NULL; NULL without an error if one of them
   is empty. */
static PyObject *
compare_documents(Walker *walker, const Document *expected, const Document *candidate)
{
    Pair pair = {.walker = walker, .expected = expected, .candidate = candidate};
    int done = FAILED;
    if (expected->tokens[0].is.count == 0
        || (candidate != NULL && candidate->tokens[0].is.count == 0)) {
        return NULL;
    }
    pair.outcomes = make_outcomes(walker);
    if (pair.outcomes == NULL) {
        return NULL;
    }
    pair.cells = *(PyObject **)((char *)pair.outcomes + walker->slots[0]);
    pair.comparisons = *(PyObject **)((char *)pair.outcomes + walker->slots[1]);
    pair.items = *(PyObject **)((char *)pair.outcomes + walker->slots[2]);
    if (candidate == NULL) {
        done = record_unmatched(&pair, walker->root, &expected->tokens[0], 0, 0);
    } else {
        done = compare_objects(&pair, walker->root, &expected->tokens[0], &candidate->tokens[0]);
    }
    if (done != DONE) {
        Py_CLEAR(pair.outcomes);
    }
    return pair.outcomes;
}

PyDoc_STRVAR(
    walker_compare_doc,
    "compare(pairs, otherwise) -> the outcomes of each pair\n\n"
    "Compare pairs of documents. A pair that is no tuple of two unparsed documents with\n"
    "members, or of one and MISSING, is passed to `otherwise`, which returns its outcomes.");

static PyObject *
walker_compare(Walker *walker, PyObject *args)
{
    PyObject *pairs, *otherwise, *results;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &pairs, &otherwise)) {
        return NULL;
    }
    results = PyList_New(0);
    for (Py_ssize_t i = 0; results != NULL && i < PyList_GET_SIZE(pairs); i++) {
        PyObject *pair = Py_NewRef(PyList_GET_ITEM(pairs, i)), *outcomes = NULL;
        if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2
            && Py_IS_TYPE(PyTuple_GET_ITEM(pair, 0), &DocumentType)) {
            PyObject *candidate = PyTuple_GET_ITEM(pair, 1);
            if (candidate == walker->missing || Py_IS_TYPE(candidate, &DocumentType)) {
                outcomes =
                    compare_documents(walker, (Document *)PyTuple_GET_ITEM(pair, 0),
                                      candidate == walker->missing ? NULL : (Document *)candidate);
            }
        }
        if (outcomes == NULL && !PyErr_Occurred()) {
            outcomes = PyObject_CallOneArg(otherwise, pair);
        }
        if (outcomes == NULL || PyList_Append(results, outcomes) < 0) {
            Py_CLEAR(results);
        }
        Py_XDECREF(outcomes);
        Py_DECREF(pair);
    }
    return results;
}

static PyMethodDef walker_methods[] = {
    {"compare", (PyCFunction)walker_compare, METH_VARARGS, walker_compare_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject WalkerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fieldmark.model.kernel._kernel.Walker",
    .tp_doc = "Compares documents under one plan.",
    .tp_basicsize = sizeof(Walker),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = walker_new,
    .tp_dealloc = (destructor)walker_dealloc,
    .tp_methods = walker_methods,
};

/* The constants that the Python code has too, or that must not exceed one of its limits. */
static const struct {
    const char *name;
    double value;
} constants[] = {
#define CONSTANT(name) {#name, (double)(name)}
    CONSTANT(MAX_DEPTH),
    CONSTANT(PER_VALUE),
    CONSTANT(LARGEST_EXACT),
    CONSTANT(LONGEST_TEXT),
    CONSTANT(MOST_PAIRS),
    CONSTANT(MOST_CHARACTER_PAIRS),
    CONSTANT(MOST_WORK),
    CONSTANT(LEAF_COST),
    CONSTANT(COLUMN_COST),
    CONSTANT(CALL_COST),
    CONSTANT(MOST_SIMILARITIES),
    CONSTANT(SLACK),
    CONSTANT(TINY),
    CONSTANT(LIMIT_MARGIN),
    CONSTANT(WEIGHT_UNIT),
    CONSTANT(SHORT_DECIMALS),
    CONSTANT(MARGIN),
    CONSTANT(TO_WHOLE),
    CONSTANT(CELL_BITS),
    CONSTANT(LANES),
    CONSTANT(SMALL_CASE),
    /* flags of attributes */
    CONSTANT(WALKS),
    CONSTANT(ALIGNS),
    CONSTANT(IS_LEAF),
    CONSTANT(TRUTH_ONLY),
    CONSTANT(SKIPPED),
    CONSTANT(WHOLE_RULE),
    CONSTANT(RULED),
    CONSTANT(GREEDY),
    CONSTANT(EXACT),
    /* presences */
    CONSTANT(ABSENT),
    CONSTANT(NULL_VALUE),
    CONSTANT(BLANK),
    CONSTANT(VALUE),
    /* fields of comparisons */
    CONSTANT(SCORE),
    CONSTANT(SIMILARITY),
    CONSTANT(REASON),
    CONSTANT(COERCED),
    CONSTANT(AMBIGUOUS),
    CONSTANT(APPROXIMATE),
    CONSTANT(NOTE),
    CONSTANT(COMPARISON_SIZE),
#undef CONSTANT
};

/* `CONSTANTS`, by which a test compares them with those of the Python code. */
static PyObject *
constants_by_name(void)
{
    PyObject *by_name = PyDict_New();
    for (size_t i = 0; by_name != NULL && i < sizeof constants / sizeof constants[0]; i++) {
        PyObject *value = PyFloat_FromDouble(constants[i].value);
        if (value == NULL || PyDict_SetItemString(by_name, constants[i].name, value) < 0) {
            Py_CLEAR(by_name);
        }
        Py_XDECREF(value);
    }
    return by_name;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fieldmark.model.kernel._kernel",
    .m_doc = "The compiled comparison of documents.",
    .m_size = -1,
};

uint64_t hash_seed;

/* The seed is the hash of a string, which Python seeds with a secret. */
static int
set_seed(void)
{
    PyObject *text = PyUnicode_FromString("fieldmark");
    if (text == NULL) {
        return 0;
    }
    hash_seed = (uint64_t)PyObject_Hash(text);
    Py_DECREF(text);
    return 1;
}

PyMODINIT_FUNC
PyInit__kernel(void)
{
    const char *pure = getenv("FIELDMARK_PURE");
    PyObject *module, *by_name;
    if (pure != NULL && strcmp(pure, "1") == 0) {
        PyErr_SetString(PyExc_ImportError, "FIELDMARK_PURE=1 selects the Python code");
        return NULL;
    }
    if (!set_seed() || PyType_Ready(&DocumentType) < 0 || PyType_Ready(&WalkerType) < 0) {
        return NULL;
    }
    module = PyModule_Create(&definition);
    by_name = constants_by_name();
    if (module != NULL
        && (PyModule_AddFunctions(module, line_functions) < 0
            || PyModule_AddFunctions(module, counting_functions) < 0
            || PyModule_AddFunctions(module, row_functions) < 0
            || PyModule_AddObjectRef(module, "Document", (PyObject *)&DocumentType) < 0
            || PyModule_AddObjectRef(module, "Walker", (PyObject *)&WalkerType) < 0
            || PyModule_AddObjectRef(module, "CONSTANTS", by_name) < 0)) {
        Py_CLEAR(module);
    }
    Py_XDECREF(by_name);
    return module;
}
