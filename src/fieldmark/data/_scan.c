/* Scans JSON as bytes: finds line ends, and detects input that a fast parser may have misread.

   A fast parser silently keeps the last of two equal keys, and turns integers beyond 64 bits into
   floats. Both are visible in the bytes: there are more colons outside strings than keys in the
   parsed value, or there is a run of too many digits. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define MOST_DIGITS 18   /* of an integer that always fits into 64 bits */
#define MOST_LEVELS 1100 /* of values: more than the fast parser creates */

typedef struct {
    Py_ssize_t keys;    /* colons outside strings */
    Py_ssize_t deepest;
    int is_long;        /* an integer has too many digits */
} Seen;

/* The first byte after a string that starts before `at`; `end` if it is unterminated. */
static const unsigned char *
behind_text(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at != '"') {
        at += *at == '\\' ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

/* The first byte after the digits at `at`. */
static const unsigned char *
behind_digits(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

static Seen
seen_in(const unsigned char *begin, const unsigned char *end)
{
    Seen seen = {0, 0, 0};
    Py_ssize_t depth = 0;
    const unsigned char *at = begin;
    while (at < end) {
        unsigned char here = *at++;
        const unsigned char *start;
        switch (here) {
        case '"':
            at = behind_text(at, end);
            break;
        case ':':
            seen.keys++;
            break;
        case '{': case '[':
            if (++depth > seen.deepest) {
                seen.deepest = depth;
            }
            break;
        case '}': case ']':
            depth--;
            break;
        case '.':
            at = behind_digits(at, end);
            break;
        case '0': case '1': case '2': case '3': case '4':
        case '5': case '6': case '7': case '8': case '9':
            start = at - 1;
            at = behind_digits(at, end);
            seen.is_long |= at - start > MOST_DIGITS;
            break;
        default:
            break;
        }
    }
    return seen;
}

static Py_ssize_t keys_in(PyObject *value, int levels);

static Py_ssize_t
keys_in_object(PyObject *object, int levels)
{
    Py_ssize_t keys = PyDict_GET_SIZE(object), at = 0;
    PyObject *value;
    while (PyDict_Next(object, &at, NULL, &value)) {
        Py_ssize_t below = keys_in(value, levels);
        if (below < 0) {
            return -1;
        }
        keys += below;
    }
    return keys;
}

static Py_ssize_t
keys_in_list(PyObject *list, int levels)
{
    Py_ssize_t keys = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        Py_ssize_t below = keys_in(PyList_GET_ITEM(list, i), levels);
        if (below < 0) {
            return -1;
        }
        keys += below;
    }
    return keys;
}

/* The number of keys in a value, at any depth; -1 if it is nested too deeply. */
static Py_ssize_t
keys_in(PyObject *value, int levels)
{
    if (PyDict_CheckExact(value)) {
        return levels > 0 ? keys_in_object(value, levels - 1) : -1;
    }
    if (PyList_CheckExact(value)) {
        return levels > 0 ? keys_in_list(value, levels - 1) : -1;
    }
    return 0;
}

PyDoc_STRVAR(may_mislead_doc,
"may_mislead(raw, values, depth) -> whether the parsed values may differ from the input\n\n"
"`raw` is JSON, and `values` are the parsed values. There may be a duplicate key, an integer that\n"
"is too long, or a value that is nested too deeply.");

static PyObject *
may_mislead(PyObject *module, PyObject *args)
{
    PyObject *raw, *values;
    Py_ssize_t depth;
    const unsigned char *begin;
    Seen seen;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!n", &PyBytes_Type, &raw, &PyList_Type, &values, &depth)) {
        return NULL;
    }
    begin = (const unsigned char *)PyBytes_AS_STRING(raw);
    seen = seen_in(begin, begin + PyBytes_GET_SIZE(raw));
    if (seen.is_long || seen.deepest > depth) {
        Py_RETURN_TRUE;
    }
    return PyBool_FromLong(keys_in(values, MOST_LEVELS) != seen.keys);
}

PyDoc_STRVAR(nth_lines_doc,
"nth_lines(piece, wanted, every) -> (ends, wanted)\n\n"
"The end of line number `wanted`, counted from 1, and of every `every`-th line after it; and the\n"
"number of the next such line in the next block.");

static PyObject *
nth_lines(PyObject *module, PyObject *args)
{
    PyObject *piece, *ends;
    Py_ssize_t wanted, every;
    const char *begin, *at, *end;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!nn", &PyBytes_Type, &piece, &wanted, &every)) {
        return NULL;
    }
    if (wanted < 1 || every < 1) {
        PyErr_SetString(PyExc_ValueError, "line numbers must be at least 1");
        return NULL;
    }
    ends = PyList_New(0);
    if (ends == NULL) {
        return NULL;
    }
    begin = at = PyBytes_AS_STRING(piece);
    end = begin + PyBytes_GET_SIZE(piece);
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        PyObject *place;
        int failed;
        at++;
        if (--wanted > 0) {
            continue;
        }
        wanted = every;
        place = PyLong_FromSsize_t(at - begin);
        failed = place == NULL || PyList_Append(ends, place) < 0;
        Py_XDECREF(place);
        if (failed) {
            Py_DECREF(ends);
            return NULL;
        }
    }
    return Py_BuildValue("Nn", ends, wanted);
}

static PyMethodDef functions[] = {
    {"may_mislead", may_mislead, METH_VARARGS, may_mislead_doc},
    {"nth_lines", nth_lines, METH_VARARGS, nth_lines_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fieldmark.data._scan",
    .m_doc = "Scans JSON as bytes.",
    .m_size = 0,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__scan(void)
{
    return PyModule_Create(&definition);
}
