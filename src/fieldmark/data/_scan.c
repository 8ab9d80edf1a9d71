/* Scans JSON as bytes: finds line ends, and detects input that a fast parser may have misread.

   A fast parser silently keeps the last of two equal keys, and turns integers beyond 64 bits into
   floats. Both are visible in the bytes: there are more colons outside strings than keys in the
   parsed value, or there is a run of too many digits. Long keys and paths are visible in the parsed
   values. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define MOST_DIGITS 18   /* of an integer that always fits into 64 bits */
#define MOST_LEVELS 1100 /* of values: more than the fast parser creates */
#define PER_CHARACTER 16 /* as in json_limits.py */
#define PER_VALUE 256

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

/* What the parsed values contain. `values`, `text` and `paths` are those of one of them. */
typedef struct {
    Py_ssize_t keys;
    Py_ssize_t longest_key;
    Py_ssize_t values;
    Py_ssize_t text;   /* characters of keys and strings */
    Py_ssize_t paths;  /* characters of the paths of all values */
} Contents;

/* Add a value, whose path has `path` characters; 0 if it is nested too deeply. */
static int
add_value(Contents *found, PyObject *value, Py_ssize_t path, int levels)
{
    found->values++;
    found->paths += path;
    if (PyUnicode_Check(value)) {
        found->text += PyUnicode_GET_LENGTH(value);
    } else if (PyDict_CheckExact(value)) {
        Py_ssize_t at = 0;
        PyObject *key, *inner;
        found->keys += PyDict_GET_SIZE(value);
        while (levels > 0 && PyDict_Next(value, &at, &key, &inner)) {
            Py_ssize_t length = PyUnicode_Check(key) ? PyUnicode_GET_LENGTH(key) : 0;
            found->text += length;
            if (length > found->longest_key) {
                found->longest_key = length;
            }
            if (!add_value(found, inner, path + length + 1, levels - 1)) {
                return 0;
            }
        }
        return levels > 0;
    } else if (PyList_CheckExact(value)) {
        Py_ssize_t digits = 1, next = 10;
        for (Py_ssize_t i = 0; levels > 0 && i < PyList_GET_SIZE(value); i++) {
            if (i == next) {
                digits++;
                next *= 10;
            }
            if (!add_value(found, PyList_GET_ITEM(value, i), path + digits + 2, levels - 1)) {
                return 0;
            }
        }
        return levels > 0;
    }
    return 1;
}

PyDoc_STRVAR(may_mislead_doc,
"may_mislead(raw, values, depth, key_characters, path_characters)\n"
"-> whether the parsed values may differ from the input, or exceed a limit\n\n"
"`raw` is JSON, and `values` are the parsed values. There may be a duplicate key, an integer that\n"
"is too long, a value that is nested too deeply, or keys or paths that are too long.");

static PyObject *
may_mislead(PyObject *module, PyObject *args)
{
    PyObject *raw, *values;
    Py_ssize_t depth, key_characters, path_characters;
    const unsigned char *begin;
    Seen seen;
    Contents found = {0, 0, 0, 0, 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!nnn", &PyBytes_Type, &raw, &PyList_Type, &values, &depth,
                          &key_characters, &path_characters)) {
        return NULL;
    }
    begin = (const unsigned char *)PyBytes_AS_STRING(raw);
    seen = seen_in(begin, begin + PyBytes_GET_SIZE(raw));
    if (seen.is_long || seen.deepest > depth) {
        Py_RETURN_TRUE;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        found.values = found.text = found.paths = 0;
        if (!add_value(&found, PyList_GET_ITEM(values, i), 0, MOST_LEVELS)
            || found.paths > path_characters + PER_CHARACTER * found.text
                                 + PER_VALUE * found.values) {
            Py_RETURN_TRUE;
        }
    }
    return PyBool_FromLong(found.keys != seen.keys || found.longest_key > key_characters);
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
