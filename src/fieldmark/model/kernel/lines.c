/* Lines: the documents and ids of a block of JSON lines.

   Invariants: a line is either read as a whole, or left to Python with its number; ids have the
   text that Python gives them; the order of the lines is kept.

   Specified by `_read_row`, `id_text` and `_hash_ids` in data/row_layout.py. */

#include "kernel.h"

#define SHORT_TAPE 1024
#define BYTES_PER_TOKEN 4 /* of longer lines with more tokens, Python objects take less memory */

typedef struct {
    Reader reader;
    PyObject *id_key;                 /* str, or None */
    PyObject *id_bytes, *value_bytes; /* the UTF-8 of the keys, or NULL */
    uint64_t id_hash, value_hash;
} LineReader;

/* Keys of an envelope whose rows only Python reads. */
static const char *const PYTHON_KEYS[] = {"tags", "exclude"};

/* Find the member of a row with a key; 0 if there is none. */
static uint32_t
find_in_row(const Reader *reader, const char *key, size_t length, uint64_t hash)
{
    const Token *row = &reader->tokens[0];
    uint32_t at = 1;
    for (uint32_t i = 0; i < row->is.count; i++) {
        const Token *member = &reader->tokens[at];
        if (member->key_hash == hash && member->key_length == length
            && memcmp(reader->begin + member->key, key, length) == 0) {
            return at;
        }
        at = member->next;
    }
    return 0;
}

static uint32_t
find_key(const Reader *reader, PyObject *key, uint64_t hash)
{
    return find_in_row(reader, PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key), hash);
}

/* Whether a row has one of the keys that only Python reads. */
static int
is_for_python(const Reader *reader)
{
    for (size_t i = 0; i < sizeof PYTHON_KEYS / sizeof *PYTHON_KEYS; i++) {
        const char *key = PYTHON_KEYS[i];
        size_t length = strlen(key);
        if (find_in_row(reader, key, length, hash_bytes((const Byte *)key, length)) > 0) {
            return 1;
        }
    }
    return 0;
}

/* The id of a row as by `id_text`: a string without escapes, or an integer. */
static PyObject *
id_of(const Reader *reader, const Token *token)
{
    const char *start = (const char *)reader->begin + token->start;
    if (token->type == IS_TEXT) {
        return PyUnicode_DecodeUTF8(start + 1, (Py_ssize_t)token->length - 2, NULL);
    }
    return PyUnicode_DecodeUTF8(start, (Py_ssize_t)token->length, NULL);
}

/* Read the id and the document of a line (`_read_row`); both are new references. */
static int
read_row(LineReader *lines, const Byte *begin, const Byte *end, PyObject **id, PyObject **document)
{
    Reader *reader = &lines->reader;
    uint32_t id_index = 0, root = 0;
    int done = read_line(reader, begin, end);
    if (done != DONE || reader->tokens[0].type != IS_OBJECT
        || reader->number > SHORT_TAPE + (size_t)(end - begin) / BYTES_PER_TOKEN) {
        return done == FAILED ? FAILED : TO_PYTHON;
    }
    if (lines->id_bytes != NULL) {
        const Token *token;
        id_index = find_key(reader, lines->id_bytes, lines->id_hash);
        token = &reader->tokens[id_index];
        if (id_index == 0 || !(token->type == IS_TEXT || token->type == IS_WHOLE)
            || (token->flags & ESCAPED)) {
            return TO_PYTHON;
        }
    }
    if (lines->value_bytes != NULL) {
        root = find_key(reader, lines->value_bytes, lines->value_hash);
        if (root == 0 || reader->tokens[root].type != IS_OBJECT || is_for_python(reader)) {
            return TO_PYTHON;
        }
    }
    *id = id_index > 0 ? id_of(reader, &reader->tokens[id_index]) : Py_NewRef(Py_None);
    *document = (PyObject *)make_document(reader, root, root > 0 ? 0 : id_index, lines->id_key);
    return *id == NULL || *document == NULL ? FAILED : DONE;
}

/* Whether a line has only white space. */
static int
is_blank(const Byte *at, const Byte *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
        at++;
    }
    return at == end;
}

/* Append the line to the lists; a refused line is added as its bytes. */
static int
append_line(LineReader *lines, const Byte *begin, const Byte *end, PyObject *ids,
            PyObject *documents)
{
    PyObject *id = NULL, *document = NULL;
    int done = read_row(lines, begin, end, &id, &document);
    if (done == TO_PYTHON) {
        id = Py_NewRef(Py_None);
        document = PyBytes_FromStringAndSize((const char *)begin, end - begin);
        done = document == NULL ? FAILED : DONE;
    }
    if (done == DONE && (PyList_Append(ids, id) < 0 || PyList_Append(documents, document) < 0)) {
        done = FAILED;
    }
    Py_XDECREF(id);
    Py_XDECREF(document);
    return done;
}

/* Append a number to a list. */
int
append_number(PyObject *numbers, Py_ssize_t number)
{
    PyObject *boxed = PyLong_FromSsize_t(number);
    int done = boxed != NULL && PyList_Append(numbers, boxed) == 0 ? DONE : FAILED;
    Py_XDECREF(boxed);
    return done;
}

/* A list of the numbers from 0 to this one, exclusively. */
static PyObject *
numbers_below(Py_ssize_t end)
{
    PyObject *numbers = PyList_New(0);
    for (Py_ssize_t i = 0; numbers != NULL && i < end; i++) {
        if (append_number(numbers, i) != DONE) {
            Py_CLEAR(numbers);
        }
    }
    return numbers;
}

/* Read a block; the numbers of its lines are needed only if there are blank ones. */
static int
read_lines(LineReader *lines, PyObject *raw, PyObject *ids, PyObject *documents, PyObject **numbers)
{
    const Byte *at = (const Byte *)PyBytes_AS_STRING(raw), *end = at + PyBytes_GET_SIZE(raw);
    Py_ssize_t number = 0;
    for (; at < end; number++) {
        const Byte *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end == NULL ? end : line_end;
        if (is_blank(at, line_end)) {
            if (*numbers == Py_None && (*numbers = numbers_below(number)) == NULL) {
                return FAILED;
            }
        } else if (append_line(lines, at, line_end, ids, documents) != DONE
                   || (*numbers != Py_None && append_number(*numbers, number) != DONE)) {
            return FAILED;
        }
        at = line_end + 1;
    }
    return DONE;
}

/* Take the UTF-8 of a key, or NULL for None. */
static int
set_key(PyObject *key, PyObject **bytes, uint64_t *hash)
{
    *bytes = NULL;
    if (key == Py_None) {
        return 1;
    }
    *bytes = PyUnicode_AsUTF8String(key);
    if (*bytes != NULL) {
        *hash =
            hash_bytes((const Byte *)PyBytes_AS_STRING(*bytes), (size_t)PyBytes_GET_SIZE(*bytes));
    }
    return *bytes != NULL;
}

PyDoc_STRVAR(read_doc,
             "read(raw, id_key, value_key, depth, key_characters, path_characters, line_bytes)\n"
             "-> (ids, documents, numbers)\n\n"
             "Read a block of lines. A line that is not strict JSON, that exceeds a limit or that\n"
             "has an unusual id is refused: its document is the bytes of the line. Blank lines\n"
             "are skipped: `numbers` are then the numbers of the other lines in the block, from\n"
             "0. Without blank lines, they are None.");

static PyObject *
read_block(PyObject *module, PyObject *args)
{
    PyObject *raw, *value_key, *ids, *documents, *numbers, *result = NULL;
    LineReader lines = {0};
    Limits *limits = &lines.reader.limits;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOnnnn", &PyBytes_Type, &raw, &lines.id_key, &value_key,
                          &limits->depth, &limits->key_characters, &limits->path_characters,
                          &limits->line_bytes)) {
        return NULL;
    }
    ids = PyList_New(0);
    documents = PyList_New(0);
    numbers = Py_None; /* which lives as long as the process */
    if (ids != NULL && documents != NULL && set_key(lines.id_key, &lines.id_bytes, &lines.id_hash)
        && set_key(value_key, &lines.value_bytes, &lines.value_hash)
        && read_lines(&lines, raw, ids, documents, &numbers) == DONE) {
        result = PyTuple_Pack(3, ids, documents, numbers);
    }
    Py_XDECREF(ids);
    Py_XDECREF(documents);
    if (numbers != Py_None) {
        Py_XDECREF(numbers);
    }
    Py_XDECREF(lines.id_bytes);
    Py_XDECREF(lines.value_bytes);
    free_reader(&lines.reader);
    return result;
}

PyDoc_STRVAR(
    is_strict_doc,
    "is_strict(raw, depth, key_characters, path_characters)\n\n"
    "Whether JSON is certainly strict and within the limits: without duplicate keys, long\n"
    "integers, lone surrogates, deep nesting and long keys or paths.");

static PyObject *
is_strict(PyObject *module, PyObject *args)
{
    Reader reader = {.limits = {.line_bytes = PY_SSIZE_T_MAX}};
    Limits *limits = &reader.limits;
    PyObject *raw;
    const Byte *begin;
    int done;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!nnn", &PyBytes_Type, &raw, &limits->depth,
                          &limits->key_characters, &limits->path_characters)) {
        return NULL;
    }
    begin = (const Byte *)PyBytes_AS_STRING(raw);
    done = read_line(&reader, begin, begin + PyBytes_GET_SIZE(raw));
    free_reader(&reader);
    return done == FAILED ? NULL : PyBool_FromLong(done == DONE);
}

PyDoc_STRVAR(document_doc, "document(raw) -> Document, or None if it is left to Python\n\n"
                           "Read JSON that was written by orjson.");

static PyObject *
document(PyObject *module, PyObject *raw)
{
    Reader reader = {.limits = {MAX_DEPTH, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX}};
    PyObject *made = NULL;
    const Byte *begin;
    int done;
    (void)module;
    if (!PyBytes_Check(raw)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    begin = (const Byte *)PyBytes_AS_STRING(raw);
    done = read_line(&reader, begin, begin + PyBytes_GET_SIZE(raw));
    if (done == DONE && reader.tokens[0].type == IS_OBJECT) {
        made = (PyObject *)make_document(&reader, 0, 0, NULL);
    } else if (done != FAILED) {
        made = Py_NewRef(Py_None);
    }
    free_reader(&reader);
    return made;
}

/* Whether a document has one of the keys. */
static int
has_any_key(const Document *document, PyObject *keys, const uint64_t *hashes)
{
    const Token *root = &document->tokens[0], *member = root + 1;
    for (uint32_t i = 0; i < root->is.count; i++) {
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(keys); j++) {
            PyObject *key = PyTuple_GET_ITEM(keys, j);
            if (member->key_hash == hashes[j]
                && PyBytes_GET_SIZE(key) == (Py_ssize_t)member->key_length
                && memcmp(BYTES(document) + member->key, PyBytes_AS_STRING(key), member->key_length)
                       == 0) {
                return 1;
            }
        }
        member = &document->tokens[member->next];
    }
    return 0;
}

PyDoc_STRVAR(find_document_doc,
             "find_document(documents, start, keys) -> place\n\n"
             "The place of the first document from `start` on with one of the keys, which are\n"
             "bytes, or of the first value that is not an unparsed document.");

static PyObject *
find_document(PyObject *module, PyObject *args)
{
    PyObject *documents, *keys;
    Py_ssize_t index;
    uint64_t *hashes;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!nO!", &PyList_Type, &documents, &index, &PyTuple_Type, &keys)) {
        return NULL;
    }
    hashes = PyMem_New(uint64_t, PyTuple_GET_SIZE(keys));
    if (hashes == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *key = PyTuple_GET_ITEM(keys, i);
        if (!PyBytes_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "keys must be bytes");
            PyMem_Free(hashes);
            return NULL;
        }
        hashes[i] = hash_bytes((const Byte *)PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key));
    }
    while (index >= 0 && index < PyList_GET_SIZE(documents)) {
        PyObject *document = PyList_GET_ITEM(documents, index);
        if (!Py_IS_TYPE(document, &DocumentType)
            || has_any_key((const Document *)document, keys, hashes)) {
            break;
        }
        index++;
    }
    PyMem_Free(hashes);
    return PyLong_FromSsize_t(index);
}

PyDoc_STRVAR(hash_ids_doc,
             "hash_ids(ids, greatest) -> (hashes, is_ascending), or None if an id is None\n\n"
             "The hashes of ids as bytes, and whether each id is greater than the one before it,\n"
             "the first than `greatest` (`_hash_ids`).");

static PyObject *
hash_ids(PyObject *module, PyObject *args)
{
    PyObject *ids, *previous, *hashes;
    int is_ascending = 1;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!U", &PyList_Type, &ids, &previous)) {
        return NULL;
    }
    hashes = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(ids) * (Py_ssize_t)sizeof(int64_t));
    if (hashes == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ids); i++) {
        PyObject *id = PyList_GET_ITEM(ids, i);
        int64_t hash;
        if (!PyUnicode_CheckExact(id)) {
            Py_DECREF(hashes);
            if (id == Py_None) {
                return Py_NewRef(Py_None);
            }
            PyErr_SetString(PyExc_TypeError, "ids must be strings");
            return NULL;
        }
        hash = (int64_t)PyObject_Hash(id);
        memcpy(PyBytes_AS_STRING(hashes) + (size_t)i * sizeof hash, &hash, sizeof hash);
        is_ascending = is_ascending && PyUnicode_Compare(previous, id) < 0;
        previous = id;
    }
    return Py_BuildValue("NO", hashes, is_ascending ? Py_True : Py_False);
}

PyDoc_STRVAR(count_lines_doc, "count_lines(raw) -> the number of line feeds");

static PyObject *
count_lines(PyObject *module, PyObject *raw)
{
    const char *at, *end;
    Py_ssize_t number = 0;
    (void)module;
    if (!PyBytes_Check(raw)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    at = PyBytes_AS_STRING(raw);
    end = at + PyBytes_GET_SIZE(raw);
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        number++;
        at++;
    }
    return PyLong_FromSsize_t(number);
}

PyMethodDef line_functions[] = {
    {"read", read_block, METH_VARARGS, read_doc},
    {"is_strict", is_strict, METH_VARARGS, is_strict_doc},
    {"document", document, METH_O, document_doc},
    {"find_document", find_document, METH_VARARGS, find_document_doc},
    {"hash_ids", hash_ids, METH_VARARGS, hash_ids_doc},
    {"count_lines", count_lines, METH_O, count_lines_doc},
    {NULL, NULL, 0, NULL},
};
