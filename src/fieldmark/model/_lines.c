/* JSON lines of a known form, read without creating Python values.

   A form lists the keys of an object and the slot of each field. Reading a line validates it as
   strictly as a JSON parser does and records the byte range of each field. Two fields with the same
   bytes have the same value, so most fields of a pair of documents are decided by comparing bytes.
   Anything unusual, such as an unknown key, a duplicate key, a Unicode escape, an exponent or an
   empty object, is rejected, and the ordinary parser reads the whole block.

   Bytes are never read at or beyond `end`, and offsets have 32 bits. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MOST_FIELDS 64  /* per object: each has a bit in a word */
#define MOST_LEVELS 16
#define MOST_PLACES 4096  /* per line, which reserves all of them */
#define MOST_DIGITS 40
#define MOST_WHOLE_DIGITS 18  /* of an integer that always fits into 64 bits */
#define OWN_PLACES 3          /* the last slots of a line: id, document, whole row */

typedef struct Form Form;

typedef struct {
    const char *key;   /* owned by the form's tuple of fields */
    Py_ssize_t length;
    Py_ssize_t place;  /* the slot of its byte range, or -1 */
    Form *below;       /* the form of the nested object, or NULL */
} Field;

struct Form {
    PyObject_HEAD
    PyObject *given;   /* keeps keys and nested forms alive */
    Py_ssize_t number;
    Py_ssize_t levels;
    Py_ssize_t places; /* of a line of this form */
    Field fields[MOST_FIELDS];
};

typedef struct {
    uint32_t start;
    uint32_t length;   /* 0: absent */
} Span;

typedef struct {
    PyObject_VAR_HEAD
    PyObject *raw;     /* its own bytes, so that a line does not keep its block alive */
    PyObject *kind;    /* identifies the form of the line */
    Span spans[1];
} Line;

typedef struct {
    const unsigned char *begin;  /* of the line */
    const unsigned char *at;
    const unsigned char *end;
    Span *spans;
} Reader;

static PyTypeObject FormType;
static PyTypeObject LineType;

/* ---- forms ---- */

/* Whether a key needs no escape, so that its bytes are the same in every line. */
static int
is_plain_key(const Field *field)
{
    for (Py_ssize_t i = 0; i < field->length; i++) {
        unsigned char here = (unsigned char)field->key[i];
        if (here < 0x20 || here == '"' || here == '\\') {
            return 0;
        }
    }
    return 1;
}

static int
set_field(Form *form, Field *field, PyObject *given)
{
    PyObject *below;
    char *key;
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 3) {
        PyErr_SetString(PyExc_TypeError, "a field must be (key, place, form or None)");
        return -1;
    }
    if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(given, 0), &key, &field->length) < 0) {
        return -1;
    }
    field->key = key;
    if (!is_plain_key(field)) {
        PyErr_SetString(PyExc_ValueError, "a key must not need an escape");
        return -1;
    }
    field->place = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, 1));
    if (field->place == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (field->place < -1 || field->place >= form->places) {
        PyErr_SetString(PyExc_ValueError, "place out of range");
        return -1;
    }
    below = PyTuple_GET_ITEM(given, 2);
    if (below == Py_None) {
        field->below = NULL;
        return 0;
    }
    if (!PyObject_TypeCheck(below, &FormType)) {
        PyErr_SetString(PyExc_TypeError, "the form of a field must be a Form or None");
        return -1;
    }
    field->below = (Form *)below;
    if (field->below->places != form->places) {
        PyErr_SetString(PyExc_ValueError, "nested forms must have the same number of places");
        return -1;
    }
    if (field->below->levels >= form->levels) {
        form->levels = field->below->levels + 1;
    }
    return 0;
}

/* Whether a key is new; duplicate keys are not allowed. */
static int
check_new(const Form *form, Py_ssize_t last)
{
    const Field *field = &form->fields[last];
    for (Py_ssize_t i = 0; i < last; i++) {
        if (form->fields[i].length == field->length
            && memcmp(form->fields[i].key, field->key, field->length) == 0) {
            PyErr_SetString(PyExc_ValueError, "duplicate key");
            return -1;
        }
    }
    return 0;
}

static PyObject *
form_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *given;
    Py_ssize_t places;
    Form *form;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &given, &places)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(given) > MOST_FIELDS || PyTuple_GET_SIZE(given) == 0
        || places <= OWN_PLACES || places > MOST_PLACES) {
        PyErr_SetString(PyExc_ValueError, "too many fields, or no fields");
        return NULL;
    }
    form = (Form *)type->tp_alloc(type, 0);
    if (form == NULL) {
        return NULL;
    }
    form->given = Py_NewRef(given);
    form->levels = 1;
    form->places = places;
    form->number = PyTuple_GET_SIZE(given);
    for (Py_ssize_t i = 0; i < form->number; i++) {
        if (set_field(form, &form->fields[i], PyTuple_GET_ITEM(given, i)) < 0
            || check_new(form, i) < 0) {
            Py_DECREF(form);
            return NULL;
        }
    }
    if (form->levels > MOST_LEVELS) {
        PyErr_SetString(PyExc_ValueError, "too many levels");
        Py_DECREF(form);
        return NULL;
    }
    return (PyObject *)form;
}

static void
form_dealloc(Form *form)
{
    Py_XDECREF(form->given);
    Py_TYPE(form)->tp_free((PyObject *)form);
}

static PyTypeObject FormType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "fieldmark.model._lines.Form",
    .tp_doc = "The keys of an object, the place of each field, and nested forms.",
    .tp_basicsize = sizeof(Form),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = form_new,
    .tp_dealloc = (destructor)form_dealloc,
};

/* ---- lines ---- */

static void
line_dealloc(Line *line)
{
    Py_XDECREF(line->raw);
    Py_XDECREF(line->kind);
    Py_TYPE(line)->tp_free((PyObject *)line);
}

static PyObject *
bytes_of(const Line *line, Py_ssize_t place)
{
    Span span = line->spans[place];
    if (span.length == 0) {
        Py_RETURN_NONE;
    }
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(line->raw) + span.start, span.length);
}

static PyObject *
line_bytes(Line *line, PyObject *argument)
{
    Py_ssize_t place = PyLong_AsSsize_t(argument);
    if (place == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (place < 0 || place >= Py_SIZE(line)) {
        PyErr_SetString(PyExc_IndexError, "place out of range");
        return NULL;
    }
    return bytes_of(line, place);
}

static PyObject *
line_kind(Line *line, void *closure)
{
    (void)closure;
    return Py_NewRef(line->kind);
}

static PyGetSetDef line_attributes[] = {
    {"kind", (getter)line_kind, NULL, "The form of the line.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef line_methods[] = {
    {"bytes", (PyCFunction)line_bytes, METH_O, "The bytes at a place, or None."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject LineType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "fieldmark.model._lines.Line",
    .tp_doc = "A validated line with the byte range of each field.",
    .tp_basicsize = offsetof(Line, spans),
    .tp_itemsize = sizeof(Span),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)line_dealloc,
    .tp_methods = line_methods,
    .tp_getset = line_attributes,
};

/* ---- reading: every function returns 0 to reject the input ---- */

static void
skip_blanks(Reader *reader)
{
    while (reader->at < reader->end
           && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r')) {
        reader->at++;
    }
}

static int
is_next(Reader *reader, unsigned char wanted)
{
    skip_blanks(reader);
    if (reader->at >= reader->end || *reader->at != wanted) {
        return 0;
    }
    reader->at++;
    return 1;
}

/* A multi-byte UTF-8 character: shortest encoding, no surrogate. */
static int
read_wide(Reader *reader)
{
    const unsigned char *at = reader->at;
    Py_ssize_t left = reader->end - at;
    unsigned char first = at[0];
    Py_ssize_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || left < length) {
        return 0;
    }
    for (Py_ssize_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F)
        || (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F)) {
        return 0;
    }
    reader->at += length;
    return 1;
}

/* Skip ASCII characters that need no escape in a string. */
static void
skip_plain(Reader *reader)
{
    const unsigned char *at = reader->at;
#ifdef __SSE2__
    while (reader->end - at >= 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)at);
        /* The comparison is signed, so the bytes of non-ASCII characters are below all others. */
        __m128i odd = _mm_or_si128(_mm_cmplt_epi8(here, _mm_set1_epi8(0x20)),
                                   _mm_or_si128(_mm_cmpeq_epi8(here, _mm_set1_epi8('"')),
                                                _mm_cmpeq_epi8(here, _mm_set1_epi8('\\'))));
        int places = _mm_movemask_epi8(odd);
        if (places != 0) {
            reader->at = at + __builtin_ctz((unsigned int)places);
            return;
        }
        at += 16;
    }
#endif
    while (at < reader->end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\') {
        at++;
    }
    reader->at = at;
}

/* The rest of a string after its opening quote. */
static int
read_text(Reader *reader)
{
    for (skip_plain(reader); reader->at < reader->end; skip_plain(reader)) {
        unsigned char here = *reader->at;
        if (here == '"') {
            reader->at++;
            return 1;
        }
        if (here >= 0x80) {
            if (!read_wide(reader)) {
                return 0;
            }
        } else if (here == '\\') {
            if (reader->end - reader->at < 2 || strchr("\"\\/bfnrt", reader->at[1]) == NULL
                || reader->at[1] == 0) {
                return 0;
            }
            reader->at += 2;
        } else {
            return 0;
        }
    }
    return 0;
}

static int
read_digits(Reader *reader)
{
    const unsigned char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        reader->at++;
    }
    return reader->at > start;
}

static int
read_number(Reader *reader)
{
    const unsigned char *start = reader->at;
    const unsigned char *digits;
    if (*reader->at == '-') {
        reader->at++;
    }
    digits = reader->at;
    if (!read_digits(reader) || (*digits == '0' && reader->at - digits > 1)) {
        return 0;
    }
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!read_digits(reader)) {
            return 0;
        }
    } else if (reader->at - digits > MOST_WHOLE_DIGITS) {
        return 0;
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        return 0;
    }
    return reader->at - start <= MOST_DIGITS;
}

static int
read_word(Reader *reader, const char *word)
{
    Py_ssize_t length = (Py_ssize_t)strlen(word);
    if (reader->end - reader->at < length || memcmp(reader->at, word, length) != 0) {
        return 0;
    }
    reader->at += length;
    return 1;
}

static int
read_scalar(Reader *reader)
{
    switch (*reader->at) {
    case '"':
        reader->at++;
        return read_text(reader);
    case 't':
        return read_word(reader, "true");
    case 'f':
        return read_word(reader, "false");
    case 'n':
        return read_word(reader, "null");
    case '-': case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9':
        return read_number(reader);
    default:
        return 0;
    }
}

/* Whether a field's key and its closing quote follow. */
static int
is_key_here(const Reader *reader, const Field *field)
{
    return reader->end - reader->at > field->length
           && memcmp(reader->at, field->key, (size_t)field->length) == 0
           && reader->at[field->length] == '"';
}

/* The field whose key follows, after its opening quote, or NULL. The search starts after the
   previous field, because the order rarely changes. */
static const Field *
read_key(Reader *reader, const Form *form, Py_ssize_t expected)
{
    for (Py_ssize_t i = 0; i < form->number; i++) {
        Py_ssize_t number = expected + i < form->number ? expected + i : expected + i - form->number;
        const Field *field = &form->fields[number];
        if (is_key_here(reader, field)) {
            reader->at += field->length + 1;
            return field;
        }
    }
    return NULL;
}

static int
read_object(Reader *reader, const Form *form, Py_ssize_t place)
{
    const unsigned char *begin = reader->at;
    uint64_t met = 0;
    Py_ssize_t expected = 0;
    if (!is_next(reader, '{')) {
        return 0;
    }
    do {
        const unsigned char *start;
        const Field *field;
        if (!is_next(reader, '"')) {
            return 0;
        }
        field = read_key(reader, form, expected);
        if (field == NULL || (met & (1ULL << (field - form->fields)))) {
            return 0;
        }
        met |= 1ULL << (field - form->fields);
        expected = (field - form->fields + 1) % form->number;
        if (!is_next(reader, ':')) {
            return 0;
        }
        skip_blanks(reader);
        if (reader->at >= reader->end) {
            return 0;
        }
        if (field->below != NULL) {
            if (!read_object(reader, field->below, field->place)) {
                return 0;
            }
        } else {
            start = reader->at;
            if (!read_scalar(reader)) {
                return 0;
            }
            if (field->place >= 0) {
                reader->spans[field->place].start = (uint32_t)(start - reader->begin);
                reader->spans[field->place].length = (uint32_t)(reader->at - start);
            }
        }
    } while (is_next(reader, ','));
    if (!is_next(reader, '}')) {
        return 0;
    }
    if (place >= 0) {
        reader->spans[place].start = (uint32_t)(begin - reader->begin);
        reader->spans[place].length = (uint32_t)(reader->at - begin);
    }
    return 1;
}

/* Whether a document has any field; an object without keys has been rejected already. */
static int
has_fields(const Span *spans, Py_ssize_t places)
{
    for (Py_ssize_t place = 0; place < places - OWN_PLACES; place++) {
        if (spans[place].length > 0) {
            return 1;
        }
    }
    return 0;
}

static Line *
read_line(Reader *reader, const Form *form, PyObject *kind)
{
    Py_ssize_t places = form->places;
    Line *line = PyObject_NewVar(Line, &LineType, places);
    if (line == NULL) {
        return NULL;
    }
    line->raw = NULL;
    line->kind = Py_NewRef(kind);
    memset(line->spans, 0, places * sizeof(Span));
    reader->spans = line->spans;
    reader->begin = reader->at;
    skip_blanks(reader);
    if (!read_object(reader, form, places - 1) || !has_fields(line->spans, places)) {
        Py_DECREF(line);
        return NULL;
    }
    line->raw = PyBytes_FromStringAndSize((const char *)reader->begin, reader->at - reader->begin);
    skip_blanks(reader);
    if (line->raw == NULL || (reader->at < reader->end && *reader->at++ != '\n')) {
        Py_DECREF(line);
        return NULL;
    }
    return line;
}

PyDoc_STRVAR(read_doc,
"read(form, raw, kind) -> list of lines, or None if some line is unusual\n\n"
"The last place is the whole row.");

static PyObject *
read_lines(PyObject *module, PyObject *args)
{
    Form *form;
    PyObject *raw, *kind, *lines;
    Reader reader;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O", &FormType, &form, &PyBytes_Type, &raw, &kind)) {
        return NULL;
    }
    if (PyBytes_GET_SIZE(raw) > INT32_MAX) {
        Py_RETURN_NONE;
    }
    lines = PyList_New(0);
    if (lines == NULL) {
        return NULL;
    }
    reader.at = (const unsigned char *)PyBytes_AS_STRING(raw);
    reader.end = reader.at + PyBytes_GET_SIZE(raw);
    while (reader.at < reader.end) {
        Line *line = read_line(&reader, form, kind);
        int failed = line == NULL || PyList_Append(lines, (PyObject *)line) < 0;
        Py_XDECREF(line);
        if (failed) {
            Py_DECREF(lines);
            if (PyErr_Occurred()) {
                return NULL;
            }
            Py_RETURN_NONE;
        }
    }
    return lines;
}

/* ---- comparing ---- */

/* What decides a field with the same bytes on both sides: a string that is not blank, or a number.
   A nonblank string and any number is certainly a value. */
enum { TEXT = 1, NUMBER = 2, SURE = 4 };

/* How the fields of a form are decided, and the cells for a match, for a field that the candidate
   lacks, and for a field that is null in the candidate. */
typedef struct {
    Py_ssize_t number;
    const unsigned char *known;
    PyObject *match;
    PyObject *absent;
    PyObject *null;
} FieldCells;

typedef struct {
    const unsigned char *at;
    Py_ssize_t length;
} Token;

static Token
token_of(const Line *line, Py_ssize_t place)
{
    Span span = line->spans[place];
    Token token = {(const unsigned char *)PyBytes_AS_STRING(line->raw) + span.start, span.length};
    return token;
}

static int
is_number(Token token)
{
    return token.at[0] == '-' || (token.at[0] >= '0' && token.at[0] <= '9');
}

/* Whether a string has a character that is certainly not whitespace. */
static int
is_filled_text(Token token)
{
    if (token.at[0] != '"') {
        return 0;
    }
    for (Py_ssize_t i = 1; i < token.length - 1; i++) {
        if (token.at[i] == '\\') {
            i++;
        } else if (token.at[i] > 0x20 && token.at[i] < 0x80) {
            return 1;
        }
    }
    return 0;
}

static int
is_surely_there(Token token)
{
    return token.length > 0 && (is_number(token) || is_filled_text(token));
}

/* A string without escapes as a Python object; NULL without an error for anything else. */
static PyObject *
as_text(Token token)
{
    if (token.length < 2 || token.at[0] != '"' || memchr(token.at, '\\', token.length) != NULL) {
        return NULL;
    }
    return PyUnicode_DecodeUTF8((const char *)token.at + 1, token.length - 2, NULL);
}

static int
has_same_bytes(Token ours, Token theirs)
{
    return ours.length > 0 && ours.length == theirs.length
        && memcmp(ours.at, theirs.at, ours.length) == 0;
}

/* Whether a field with the same bytes on both sides certainly matches. */
static int
settles(const FieldCells *fields, Py_ssize_t place, Token token)
{
    unsigned char known = fields->known[place];
    return is_number(token) ? (known & NUMBER) != 0 : (known & TEXT) && is_filled_text(token);
}

/* The cell of a field if it is certain, otherwise NULL. */
static PyObject *
cell_of(const FieldCells *fields, Py_ssize_t place, Token ours, Token theirs)
{
    if (has_same_bytes(ours, theirs)) {
        return settles(fields, place, ours) ? PyTuple_GET_ITEM(fields->match, place) : NULL;
    }
    if (!(fields->known[place] & SURE) || !is_surely_there(ours)) {
        return NULL;
    }
    if (theirs.length == 0) {
        return PyTuple_GET_ITEM(fields->absent, place);
    }
    return theirs.at[0] == 'n' ? PyTuple_GET_ITEM(fields->null, place) : NULL;
}

static PyObject *
bytes_or_none(Token token)
{
    if (token.length == 0) {
        Py_RETURN_NONE;
    }
    return PyBytes_FromStringAndSize((const char *)token.at, token.length);
}

/* Record an undecided field: (position, place, ours, theirs, whether both are certainly values). */
static int
leave_open(PyObject **open, PyObject *cells, const FieldCells *fields, Py_ssize_t place, Token ours,
           Token theirs)
{
    PyObject *field;
    int failed;
    int sure = (fields->known[place] & SURE) && is_surely_there(ours) && is_surely_there(theirs);
    if (*open == NULL && (*open = PyList_New(0)) == NULL) {
        return -1;
    }
    field = Py_BuildValue("nnNNi", PyList_GET_SIZE(cells), place, bytes_or_none(ours),
                          bytes_or_none(theirs), sure);
    if (field == NULL) {
        return -1;
    }
    failed = PyList_Append(*open, field);
    Py_DECREF(field);
    return failed < 0 ? -1 : PyList_Append(cells, Py_None);
}

/* The cells of a pair, None for undecided fields, and the undecided fields; -1 for an error. */
static int
compare_pair(const FieldCells *fields, const Line *expected, const Line *candidate, PyObject *cells,
             PyObject **open)
{
    for (Py_ssize_t place = 0; place < fields->number; place++) {
        Token ours = token_of(expected, place), theirs = token_of(candidate, place);
        PyObject *cell;
        int failed;
        if (ours.length == 0 && theirs.length == 0) {
            continue;
        }
        cell = cell_of(fields, place, ours, theirs);
        failed = cell != NULL ? PyList_Append(cells, cell)
                              : leave_open(open, cells, fields, place, ours, theirs);
        if (failed < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether all fields of a pair surely match. */
static int
all_match(const FieldCells *fields, const Line *expected, const Line *candidate)
{
    for (Py_ssize_t place = 0; place < fields->number; place++) {
        Token ours = token_of(expected, place), theirs = token_of(candidate, place);
        if (!has_same_bytes(ours, theirs) || !settles(fields, place, ours)) {
            return 0;
        }
    }
    return 1;
}

/* Whether all are lines of one form with at least this many places; -1 if not. */
static int
check_lines(PyObject *lines, Py_ssize_t number)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines); i++) {
        PyObject *line = PyList_GET_ITEM(lines, i);
        if (!Py_IS_TYPE(line, &LineType) || Py_SIZE(line) < number
            || ((Line *)line)->kind != ((Line *)PyList_GET_ITEM(lines, 0))->kind) {
            PyErr_SetString(PyExc_TypeError, "lines must have the same form");
            return -1;
        }
    }
    return 0;
}

static int
check_fields(const FieldCells *fields)
{
    if (PyTuple_GET_SIZE(fields->match) != fields->number
        || PyTuple_GET_SIZE(fields->absent) != fields->number
        || PyTuple_GET_SIZE(fields->null) != fields->number) {
        PyErr_SetString(PyExc_ValueError, "cells must match the fields");
        return -1;
    }
    return 0;
}

/* Record a pair in which not all fields match; -1 for an error. */
static int
note_pair(PyObject *all, Py_ssize_t pair, const FieldCells *fields, const Line *expected,
          const Line *candidate)
{
    PyObject *cells = PyList_New(0), *open = NULL, *noted = NULL;
    int failed = -1;
    if (cells != NULL && compare_pair(fields, expected, candidate, cells, &open) == 0) {
        noted = Py_BuildValue("nOO", pair, cells, open == NULL ? Py_None : open);
    }
    if (noted != NULL) {
        failed = PyList_Append(all, noted);
    }
    Py_XDECREF(noted);
    Py_XDECREF(open);
    Py_XDECREF(cells);
    return failed;
}

PyDoc_STRVAR(compare_doc,
"compare(expected, candidate, known, match, absent, null) -> [(pair, cells, open), ...]\n\n"
"Pairs in which all fields match are omitted. `open` lists (position, field, ours, theirs, sure)\n"
"for every cell that is None, or is None if there are none.");

static PyObject *
compare(PyObject *module, PyObject *args)
{
    PyObject *expected, *candidate, *known, *all;
    FieldCells fields;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!", &PyList_Type, &expected, &PyList_Type, &candidate,
                          &PyBytes_Type, &known, &PyTuple_Type, &fields.match, &PyTuple_Type,
                          &fields.absent, &PyTuple_Type, &fields.null)) {
        return NULL;
    }
    fields.number = PyBytes_GET_SIZE(known);
    fields.known = (const unsigned char *)PyBytes_AS_STRING(known);
    if (PyList_GET_SIZE(expected) != PyList_GET_SIZE(candidate)) {
        PyErr_SetString(PyExc_ValueError, "there must be as many candidates as truths");
        return NULL;
    }
    if (check_fields(&fields) < 0 || check_lines(expected, fields.number) < 0
        || check_lines(candidate, fields.number) < 0 || (all = PyList_New(0)) == NULL) {
        return NULL;
    }
    for (Py_ssize_t pair = 0; pair < PyList_GET_SIZE(expected); pair++) {
        const Line *ours = (const Line *)PyList_GET_ITEM(expected, pair);
        const Line *theirs = (const Line *)PyList_GET_ITEM(candidate, pair);
        if (!all_match(&fields, ours, theirs) && note_pair(all, pair, &fields, ours, theirs) < 0) {
            Py_DECREF(all);
            return NULL;
        }
    }
    return all;
}

PyDoc_STRVAR(texts_doc,
"texts(lines, place) -> the strings at a place, or None if one is not a plain string");

static PyObject *
texts(PyObject *module, PyObject *args)
{
    PyObject *lines, *all;
    Py_ssize_t place;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &lines, &place)) {
        return NULL;
    }
    all = PyList_New(PyList_GET_SIZE(lines));
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(lines); i++) {
        PyObject *given = PyList_GET_ITEM(lines, i), *text;
        const Line *line = (const Line *)given;
        if (!Py_IS_TYPE(given, &LineType) || place < 0 || place >= Py_SIZE(given)) {
            PyErr_SetString(PyExc_TypeError, "expected lines with this place");
            Py_DECREF(all);
            return NULL;
        }
        text = as_text(token_of(line, place));
        if (text == NULL) {
            Py_DECREF(all);
            if (PyErr_Occurred()) {
                return NULL;
            }
            Py_RETURN_NONE;
        }
        PyList_SET_ITEM(all, i, text);
    }
    return all;
}

/* ---- the module ---- */

static PyMethodDef functions[] = {
    {"read", read_lines, METH_VARARGS, read_doc},
    {"compare", compare, METH_VARARGS, compare_doc},
    {"texts", texts, METH_VARARGS, texts_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fieldmark.model._lines",
    .m_doc = "JSON lines of a known form, read without creating Python values.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__lines(void)
{
    PyObject *module;
    if (PyType_Ready(&FormType) < 0 || PyType_Ready(&LineType) < 0) {
        return NULL;
    }
    module = PyModule_Create(&definition);
    if (module == NULL
        || PyModule_AddObjectRef(module, "Form", (PyObject *)&FormType) < 0
        || PyModule_AddObjectRef(module, "Line", (PyObject *)&LineType) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
