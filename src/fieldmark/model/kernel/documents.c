/* Documents: a tape with its bytes, as the Python object `Document`.

   A document is parsed into Python objects only if Python asks for its value.

   Invariants: a document owns its bytes and its tokens; the member with the id of the case may be
   left out (`dropped`), and then no token and no value contains it.

   Specified by `parsed` in model/kernel/__init__.py: `Document.value` returns what the readers of
   values/json_text.py return for the same bytes. */

#include "kernel.h"

#define UNSURE 2 /* `is_canonical` depends on floats that have not been looked at */

PyObject *loads, *dumps;

/* Import the functions of orjson; 0 for an error. */
int
import_orjson(void)
{
    PyObject *orjson = PyImport_ImportModule("orjson");
    if (orjson != NULL) {
        Py_XSETREF(loads, PyObject_GetAttrString(orjson, "loads"));
        Py_XSETREF(dumps, PyObject_GetAttrString(orjson, "dumps"));
        Py_DECREF(orjson);
    }
    return loads != NULL && dumps != NULL;
}

/* Free a document. */
static void
document_dealloc(Document *document)
{
    Py_XDECREF(document->raw);
    Py_XDECREF(document->dropped);
    Py_TYPE(document)->tp_free((PyObject *)document);
}

/* Copy a value of the tape, and everything inside it but the member `dropped`, a scalar. */
Document *
make_document(const Reader *reader, uint32_t root, uint32_t dropped, PyObject *key)
{
    const Token *value = &reader->tokens[root];
    uint32_t number = value->next - root - (dropped > 0), before;
    Document *document = PyObject_NewVar(Document, &DocumentType, (Py_ssize_t)number);
    if (document == NULL) {
        return NULL;
    }
    document->dropped = dropped > 0 ? Py_NewRef(key) : NULL;
    document->is_canonical = reader->deviations > 0 ? 0 : reader->long_reals > 0 ? UNSURE : 1;
    document->gap = document->gap_length = 0;
    if (dropped > 0) {
        const Token *member = &reader->tokens[dropped];
        int is_first = dropped == root + 1, is_only = value->is.count == 1;
        document->gap = member->key - 1 - !is_first - value->start;
        document->gap_length =
            member->start + member->length + (is_first && !is_only) - (member->key - 1 - !is_first);
    }
    document->raw = PyBytes_FromStringAndSize((const char *)reader->begin + value->start,
                                              (Py_ssize_t)value->length);
    if (document->raw == NULL) {
        Py_DECREF(document);
        return NULL;
    }
    before = dropped > 0 ? dropped - root : number;
    for (uint32_t i = 0; i < number; i++) {
        Token *token = &document->tokens[i];
        *token = value[i + (i >= before)];
        token->start -= value->start;
        token->key -= value->start;
        token->next -= root;
        token->next -= token->next > before;
    }
    document->tokens[0].key = 0;
    document->tokens[0].is.count -= dropped > 0;
    return document;
}

/* Parse JSON that has been checked. */
static PyObject *
parse(const char *start, Py_ssize_t length)
{
    PyObject *text, *value;
    if (loads == NULL && !import_orjson()) {
        return NULL;
    }
    text = PyBytes_FromStringAndSize(start, length);
    value = text == NULL ? NULL : PyObject_CallOneArg(loads, text);
    Py_XDECREF(text);
    return value;
}

/* The Python value of a token. */
PyObject *
value_of(const Document *document, const Token *token)
{
    const char *start = (const char *)BYTES(document) + token->start;
    switch (token->type) {
    case IS_NULL:
        return Py_NewRef(Py_None);
    case IS_TRUE:
        return Py_NewRef(Py_True);
    case IS_FALSE:
        return Py_NewRef(Py_False);
    case IS_WHOLE:
        return PyLong_FromLongLong(token->is.whole);
    case IS_REAL:
        return PyFloat_FromDouble(token->is.real);
    case IS_TEXT:
        if (!(token->flags & ESCAPED)) {
            return PyUnicode_DecodeUTF8(start + 1, (Py_ssize_t)token->length - 2, NULL);
        }
    }
    return parse(start, (Py_ssize_t)token->length);
}

PyDoc_STRVAR(document_value_doc, "value() -> the document as Python objects");

/* `Document.value`. */
static PyObject *
document_value(Document *document, PyObject *unused)
{
    PyObject *value = value_of(document, &document->tokens[0]);
    (void)unused;
    if (value != NULL && document->dropped != NULL
        && PyDict_DelItem(value, document->dropped) < 0) {
        Py_CLEAR(value);
    }
    return value;
}

/* Whether orjson would write the same bytes, or -1 for an error. Python writes the digits of a
   long float like orjson, and in the same form unless it is small or large. */
int
is_canonical(Document *document)
{
    for (uint32_t i = 0; document->is_canonical == UNSURE && i < document->tokens[0].next; i++) {
        const Token *token = &document->tokens[i];
        if (token->type == IS_REAL && token->length > EXACT_DIGITS) {
            char *text = PyOS_double_to_string(token->is.real, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
            if (text == NULL) {
                return -1;
            }
            if (strlen(text) != token->length
                || memcmp(text, BYTES(document) + token->start, token->length) != 0) {
                document->is_canonical = 0;
            }
            PyMem_Free(text);
        }
    }
    document->is_canonical = document->is_canonical != 0;
    return document->is_canonical;
}

/* `Document.canonical`: the bytes without the dropped member. */
static PyObject *
document_canonical(Document *document, void *unused)
{
    PyObject *bytes;
    Py_ssize_t length = PyBytes_GET_SIZE(document->raw);
    int canonical = is_canonical(document);
    (void)unused;
    if (canonical < 0) {
        return NULL;
    }
    if (!canonical || document->gap_length == 0) {
        return Py_NewRef(canonical ? document->raw : Py_None);
    }
    bytes = PyBytes_FromStringAndSize(NULL, length - document->gap_length);
    if (bytes != NULL) {
        char *to = PyBytes_AS_STRING(bytes);
        const char *from = PyBytes_AS_STRING(document->raw);
        size_t after = document->gap + document->gap_length;
        memcpy(to, from, document->gap);
        memcpy(to + document->gap, from + after, (size_t)length - after);
    }
    return bytes;
}

static PyMethodDef document_methods[] = {
    {"value", (PyCFunction)document_value, METH_NOARGS, document_value_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef document_properties[] = {
    {"canonical", (getter)document_canonical, NULL,
     "The bytes of the document if orjson would write the same, else None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject DocumentType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fieldmark.model.kernel._kernel.Document",
    .tp_doc = "An object as JSON that has been checked, but not been parsed.",
    .tp_basicsize = offsetof(Document, tokens),
    .tp_itemsize = sizeof(Token),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)document_dealloc,
    .tp_methods = document_methods,
    .tp_getset = document_properties,
};
