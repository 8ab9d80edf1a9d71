/* Rows of results: written for common cases, and divided again when a run is read.

   Invariants: the bytes of a row are those of orjson; a case or a row that is not of the common
   form is left to Python as a whole.

   Specified by `CaseEncoder` and `CaseDecoder` in runs/case_rows.py. */

#include "kernel.h"

typedef struct {
    char *bytes;
    size_t length, capacity;
} Writer;

/* Make room for more bytes; NULL for an error. */
static char *
reserve(Writer *writer, size_t more)
{
    if (more > writer->capacity - writer->length) {
        size_t capacity = 2 * writer->capacity + more;
        char *bytes = PyMem_Realloc(writer->bytes, capacity);
        if (bytes == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        writer->bytes = bytes;
        writer->capacity = capacity;
    }
    return writer->bytes + writer->length;
}

/* Write bytes. */
static int
write_bytes(Writer *writer, const char *bytes, size_t length)
{
    char *to = reserve(writer, length);
    if (to == NULL) {
        return FAILED;
    }
    memcpy(to, bytes, length);
    writer->length += length;
    return DONE;
}

#define WRITE(writer, text) write_bytes(writer, text, sizeof(text) - 1)

/* Write an integer. */
static int
write_whole(Writer *writer, long long number)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long long rest =
        number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        *--at = '-';
    }
    return write_bytes(writer, at, (size_t)(digits + sizeof digits - at));
}

/* Let orjson write a value; TO_PYTHON if it cannot. */
static int
write_by_orjson(Writer *writer, PyObject *value)
{
    PyObject *text;
    int done;
    if (dumps == NULL && !import_orjson()) {
        return FAILED;
    }
    text = PyObject_CallOneArg(dumps, value);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return FAILED;
        }
        PyErr_Clear();
        return TO_PYTHON;
    }
    done = PyBytes_Check(text)
               ? write_bytes(writer, PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text))
               : TO_PYTHON;
    Py_DECREF(text);
    return done;
}

/* Write a float as orjson does, which writes all but similarities. */
static int
write_real(Writer *writer, PyObject *value)
{
    double number = PyFloat_AS_DOUBLE(value);
    char text[2 + SHORT_DECIMALS] = "0.";
    int length = sizeof text;
    long long units;
    if (number == 1.0) {
        return WRITE(writer, "1.0");
    }
    if (number == 0.0 && !signbit(number)) {
        return WRITE(writer, "0.0");
    }
    if (!(number >= 0.001 && number < 1.0)) {
        return write_by_orjson(writer, value);
    }
    units = (long long)(number * WEIGHT_UNIT + 0.5);
    if ((double)units / WEIGHT_UNIT != number) {
        return write_by_orjson(writer, value);
    }
    /* The shortest text of a float is the only one with at most 15 digits. */
    for (int i = length - 1; i >= 2; i--) {
        text[i] = (char)('0' + units % 10);
        units /= 10;
    }
    while (text[length - 1] == '0') {
        length--;
    }
    return write_bytes(writer, text, (size_t)length);
}

/* Write a string; orjson writes what is not printable ASCII. */
static int
write_string(Writer *writer, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const Byte *letters;
    char *to;
    if (!PyUnicode_IS_ASCII(text)) {
        return write_by_orjson(writer, text);
    }
    letters = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t i = 0; i < length; i++) {
        if (letters[i] < ' ' || letters[i] == '"' || letters[i] == '\\') {
            return write_by_orjson(writer, text);
        }
    }
    to = reserve(writer, (size_t)length + 2);
    if (to == NULL) {
        return FAILED;
    }
    to[0] = '"';
    memcpy(to + 1, letters, (size_t)length);
    to[length + 1] = '"';
    writer->length += (size_t)length + 2;
    return DONE;
}

/* Write a string, an integer, a float or None; others are left to Python. */
static int
write_scalar(Writer *writer, PyObject *value)
{
    if (value == Py_None) {
        return WRITE(writer, "null");
    }
    if (PyFloat_CheckExact(value)) {
        return write_real(writer, value);
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow ? write_by_orjson(writer, value) : write_whole(writer, number);
    }
    return PyUnicode_Check(value) ? write_string(writer, value) : TO_PYTHON;
}

/* `_comparison`, with its note. */
static int
write_comparison(Writer *writer, PyObject *cell_index, PyObject *comparison)
{
    static const char *const names[] = {"\"coerced\"", "\"ambiguous\"", "\"approximate\""};
    static const int order[] = {SIMILARITY, SCORE, REASON};
    PyObject *note;
    int done, written = 0;
    if (!PyTuple_Check(comparison) || PyTuple_GET_SIZE(comparison) != COMPARISON_SIZE
        || !PyUnicode_Check(PyTuple_GET_ITEM(comparison, NOTE))) {
        return TO_PYTHON;
    }
    done = WRITE(writer, "[");
    done = done == DONE ? write_scalar(writer, cell_index) : done;
    for (int i = 0; done == DONE && i < 3; i++) {
        done = WRITE(writer, ",");
        done = done == DONE ? write_scalar(writer, PyTuple_GET_ITEM(comparison, order[i])) : done;
    }
    done = done == DONE ? WRITE(writer, ",[") : done;
    for (int i = 0; done == DONE && i < 3; i++) {
        int is_set = PyObject_IsTrue(PyTuple_GET_ITEM(comparison, COERCED + i));
        if (is_set < 0) {
            return FAILED;
        }
        if (is_set) {
            done = written++ > 0 ? WRITE(writer, ",") : DONE;
            done = done == DONE ? write_bytes(writer, names[i], strlen(names[i])) : done;
        }
    }
    done = done == DONE ? WRITE(writer, "]") : done;
    note = PyTuple_GET_ITEM(comparison, NOTE);
    if (done == DONE && PyUnicode_GET_LENGTH(note) > 0) {
        done = WRITE(writer, ",");
        done = done == DONE ? write_string(writer, note) : done;
    }
    return done == DONE ? WRITE(writer, "]") : done;
}

/* Write the comparisons of a case by the places of their cells. */
static int
write_comparisons(Writer *writer, PyObject *comparisons)
{
    PyObject *cell_index, *comparison;
    Py_ssize_t position = 0;
    int done = WRITE(writer, ",\"comparisons\":"), number = 0;
    while (done == DONE && PyDict_Next(comparisons, &position, &cell_index, &comparison)) {
        done = number++ == 0 ? WRITE(writer, "[") : WRITE(writer, ",");
        done = done == DONE ? write_comparison(writer, cell_index, comparison) : done;
    }
    return done == DONE ? WRITE(writer, "]") : done;
}

/* `RowNumbers.items`; a list without a number is left to it. */
static int
write_items(Writer *writer, PyObject *items, PyObject *numbers)
{
    int done = WRITE(writer, ",\"items\":");
    for (Py_ssize_t i = 0; done == DONE && i < PyList_GET_SIZE(items); i++) {
        PyObject *mark = PyList_GET_ITEM(items, i);
        if (!PyTuple_Check(mark) || PyTuple_GET_SIZE(mark) != 5) {
            return TO_PYTHON;
        }
        done = i == 0 ? WRITE(writer, "[[") : WRITE(writer, ",[");
        for (int k = 0; done == DONE && k < 5; k++) {
            PyObject *value = PyTuple_GET_ITEM(mark, k);
            if (k == 1) {
                value = PyDict_GetItemWithError(numbers, value);
                if (value == NULL) {
                    return PyErr_Occurred() ? FAILED : TO_PYTHON;
                }
            }
            done = k > 0 ? WRITE(writer, ",") : DONE;
            done = done == DONE ? write_scalar(writer, value) : done;
        }
        done = done == DONE ? WRITE(writer, "]") : done;
    }
    return done == DONE ? WRITE(writer, "]") : done;
}

/* `_document_json`; a document that orjson would write otherwise is left to Python. */
static int
write_document(Writer *writer, PyObject *value)
{
    Document *document = (Document *)value;
    size_t after, length;
    const char *bytes;
    int done = Py_IS_TYPE(value, &DocumentType) ? is_canonical(document) : TO_PYTHON;
    if (done != DONE) {
        return done;
    }
    bytes = PyBytes_AS_STRING(document->raw);
    length = (size_t)PyBytes_GET_SIZE(document->raw);
    after = (size_t)document->gap + document->gap_length;
    done = write_bytes(writer, bytes, document->gap);
    return done == DONE ? write_bytes(writer, bytes + after, length - after) : done;
}

PyDoc_STRVAR(
    row_doc,
    "row(case_id, record, comparisons, items, numbers, expected, candidate)\n"
    "-> a line of results.jsonl, or None if it is left to `CaseEncoder`\n\n"
    "`record` is what the line contains between the id and the comparisons. `numbers` are\n"
    "the stored numbers of lists.");

static PyObject *
row(PyObject *module, PyObject *args)
{
    PyObject *id, *record, *comparisons, *items, *numbers, *expected, *candidate, *line = NULL;
    Writer writer = {0};
    int done;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!OO", &PyUnicode_Type, &id, &PyBytes_Type, &record,
                          &PyDict_Type, &comparisons, &PyList_Type, &items, &PyDict_Type, &numbers,
                          &expected, &candidate)) {
        return NULL;
    }
    done = WRITE(&writer, "{\"case_id\":");
    done = done == DONE ? write_string(&writer, id) : done;
    if (done == DONE) {
        done = write_bytes(&writer, PyBytes_AS_STRING(record), (size_t)PyBytes_GET_SIZE(record));
    }
    if (done == DONE && PyDict_GET_SIZE(comparisons) > 0) {
        done = write_comparisons(&writer, comparisons);
    }
    if (done == DONE && PyList_GET_SIZE(items) > 0) {
        done = write_items(&writer, items, numbers);
    }
    done = done == DONE ? WRITE(&writer, ",\"expected\":") : done;
    done = done == DONE ? write_document(&writer, expected) : done;
    done = done == DONE ? WRITE(&writer, ",\"candidate\":") : done;
    done = done == DONE ? write_document(&writer, candidate) : done;
    done = done == DONE ? WRITE(&writer, "}\n") : done;
    if (done == DONE) {
        line = PyBytes_FromStringAndSize(writer.bytes, (Py_ssize_t)writer.length);
    } else if (done == TO_PYTHON) {
        line = Py_NewRef(Py_None);
    }
    PyMem_Free(writer.bytes);
    return line;
}

#define SKIP(reader, text) skip_text(reader, "" text, sizeof(text) - 1)

/* Skip what is before the ground truth of a row; 0 if it has none. */
static int
skip_record(Reader *reader)
{
    static const char key[] = ",\"expected\":";
    const size_t before = 3, length = sizeof key - 1; /* few letters of a record are an x */
    const Byte *at = reader->at + before;
    while (at < reader->end && (at = memchr(at, 'x', (size_t)(reader->end - at))) != NULL) {
        if ((size_t)(reader->end - at) >= length - before
            && memcmp(at - before, key, length) == 0) {
            reader->at = at - before;
            return 1;
        }
        at++;
    }
    return 0;
}

/* Read the next document of a row; NULL without an error if it is left to Python. */
static PyObject *
read_stored(Reader *reader)
{
    int done = read_root(reader);
    if (done != DONE || reader->tokens[0].type != IS_OBJECT) {
        return NULL;
    }
    return (PyObject *)make_document(reader, 0, 0, NULL);
}

PyDoc_STRVAR(
    divide_row_doc,
    "divide_row(line, missing)\n"
    "-> (case_id, record, (expected, candidate)), or None if it is left to `divide_row`\n\n"
    "Divide a line of results.jsonl; `missing` stands for a candidate that it does not\n"
    "have.");

/* Divide a line that starts no segment (`divide_row`), and read its documents. */
static PyObject *
divide_row(PyObject *module, PyObject *const *args, Py_ssize_t number)
{
    Reader reader = {.limits = {MAX_DEPTH, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX}};
    const char *id, *record;
    Py_ssize_t id_length, record_length;
    PyObject *expected = NULL, *candidate = NULL, *parts = NULL;
    (void)module;
    if (number != 2 || !PyBytes_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected bytes and a default");
        return NULL;
    }
    reader.begin = reader.at = (const Byte *)PyBytes_AS_STRING(args[0]);
    reader.end = reader.begin + PyBytes_GET_SIZE(args[0]);
    if (reader.end - reader.begin > LONGEST_LINE || !SKIP(&reader, "{\"case_id\":\"")) {
        Py_RETURN_NONE;
    }
    id = (const char *)reader.at;
    while (reader.at < reader.end && *reader.at >= ' ' && *reader.at <= '~' && *reader.at != '"'
           && *reader.at != '\\') {
        reader.at++;
    }
    id_length = (const char *)reader.at - id;
    record = (const char *)reader.at + 1;
    if (!SKIP(&reader, "\",\"score\":") || !skip_record(&reader)) {
        Py_RETURN_NONE;
    }
    record_length = (const char *)reader.at - record;
    reader.at += sizeof(",\"expected\":") - 1;
    expected = read_stored(&reader);
    if (expected != NULL) {
        int has_candidate = SKIP(&reader, ",\"candidate\":");
        candidate = has_candidate ? read_stored(&reader) : Py_NewRef(args[1]);
    }
    if (candidate != NULL && SKIP(&reader, "}\n") && reader.at == reader.end) {
        parts =
            Py_BuildValue("s#y#(OO)", id, id_length, record, record_length, expected, candidate);
    } else if (!PyErr_Occurred()) {
        parts = Py_NewRef(Py_None);
    }
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    free_reader(&reader);
    return parts;
}

PyMethodDef row_functions[] = {
    {"row", row, METH_VARARGS, row_doc},
    {"divide_row", (PyCFunction)(void (*)(void))divide_row, METH_FASTCALL, divide_row_doc},
    {NULL, NULL, 0, NULL},
};
