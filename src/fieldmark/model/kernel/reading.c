/* Reading: a line of JSON to a tape of tokens, one token for each value, in the order of the text.

   Only strict JSON is read. A line with anything unusual (duplicate keys, numbers that a float
   cannot hold, characters that must be escaped, too much depth) is refused, and Python reads it.

   Invariants: no byte at or beyond `end` is read; the token of a container is followed by the
   tokens inside it, and `next` is the index after them; equal values have equal hashes.

   Specified by `parse_bytes` in data/json_parser.py and `check_paths` in values/json_text.py. */

#include "kernel.h"

#define INHERITED (VARIANT | ESCAPED | WIDE)

#define MOST_WHOLE_DIGITS 18 /* of an integer that always fits into 64 bits */
#define MOST_DIGITS 40

static int read_value(Reader *reader, Py_ssize_t depth, uint64_t path);

/* Free the memory of a reader. */
void
free_reader(Reader *reader)
{
    PyMem_Free(reader->tokens);
    PyMem_Free(reader->keys);
}

/* Add an empty token; -1 for an error. */
static Py_ssize_t
add_token(Reader *reader, int type)
{
    Token *token;
    if (reader->number == reader->capacity) {
        size_t capacity = reader->capacity ? 2 * reader->capacity : 256;
        Token *tokens = reader->tokens;
        if (capacity > PY_SSIZE_T_MAX / sizeof *tokens
            || (tokens = PyMem_Realloc(tokens, capacity * sizeof *tokens)) == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        reader->tokens = tokens;
        reader->capacity = capacity;
    }
    token = &reader->tokens[reader->number];
    memset(token, 0, sizeof *token);
    token->type = (uint8_t)type;
    token->start = (uint32_t)(reader->at - reader->begin);
    return (Py_ssize_t)reader->number++;
}

/* Complete a token that ends before `at`. */
static void
end_token(Reader *reader, Token *token)
{
    token->length = (uint32_t)(reader->at - reader->begin) - token->start;
    token->next = (uint32_t)reader->number;
}

/* Skip white space, which orjson would not write. */
static void
skip_blanks(Reader *reader)
{
    while (reader->at < reader->end && *reader->at <= ' '
           && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r'
               || *reader->at == '\n')) {
        reader->at++;
        reader->deviations++;
    }
}

/* Skip blanks and then one character, if it is this one. */
static int
skip(Reader *reader, Byte character)
{
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == character) {
        reader->at++;
        return 1;
    }
    return 0;
}

/* The number of bytes of a character beyond ASCII, or 0 if it is not valid UTF-8. */
static int
wide_length(const Byte *at, const Byte *end)
{
    Byte first = at[0];
    int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || end - at < length) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F)
        || (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F)) {
        return 0; /* too long a form, a surrogate, or beyond Unicode */
    }
    return length;
}

/* Whether a character beyond ASCII may be white space: U+0085, U+00A0, U+1680, U+2000 to U+205F or
   U+3000. */
static int
may_be_blank(const Byte *at)
{
    switch (at[0]) {
    case 0xC2:
        return 1;
    case 0xE1:
        return at[1] == 0x9A;
    case 0xE2:
        return at[1] == 0x80 || at[1] == 0x81;
    case 0xE3:
        return at[1] == 0x80;
    default:
        return 0;
    }
}

/* Whether a byte is a hexadecimal digit. */
static int
is_hex(Byte letter)
{
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f')
           || (letter >= 'A' && letter <= 'F');
}

/* Read the four digits of an escape by number after "\\u". A surrogate must be the first of a
   pair; others are left to the exact parser. */
static int
read_code(Reader *reader)
{
    const Byte *at = reader->at;
    if (reader->end - at < 4 || !is_hex(at[0]) || !is_hex(at[1]) || !is_hex(at[2])
        || !is_hex(at[3])) {
        return TO_PYTHON;
    }
    reader->at += 4;
    if ((at[0] | 32) != 'd' || at[1] < '8') {
        return DONE;
    }
    if ((at[1] | 32) > 'b' || reader->end - at < 10 || at[4] != '\\' || at[5] != 'u'
        || (at[6] | 32) != 'd' || (at[7] | 32) < 'c' || (at[7] | 32) > 'f' || !is_hex(at[8])
        || !is_hex(at[9])) {
        return TO_PYTHON;
    }
    reader->at += 6;
    return DONE;
}

/* Read an escape, from its backslash on. */
static int
read_escape(Reader *reader, int *flags)
{
    const Byte *at = reader->at + 1;
    if (at >= reader->end) {
        return TO_PYTHON;
    }
    *flags |= ESCAPED;
    switch (*at) {
    case '"':
    case '\\':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        reader->at = at + 1;
        return DONE;
    case '/':
        reader->at = at + 1;
        break;
    case 'u':
        reader->at = at + 1;
        if (!read_code(reader)) {
            return TO_PYTHON;
        }
        break;
    default:
        return TO_PYTHON;
    }
    *flags |= VARIANT;
    reader->deviations++;
    return DONE;
}

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

/* A word whose lowest marked byte is the lowest byte of another word that is below a limit. */
static uint64_t
bytes_below(uint64_t word, Byte limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80u);
}

/* Skip letters, eight at a time, up to one that `read_text` looks at. */
static void
skip_letters(Reader *reader, int *flags)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const Byte *at = reader->at, *end = reader->end;
    uint64_t word, marked = 0, filled = 0;
    while (marked == 0 && end - at >= (Py_ssize_t)sizeof word) {
        int letters = sizeof word;
        memcpy(&word, at, sizeof word);
        marked = (word & EACH_BYTE(0x80u)) | bytes_below(word, ' ')
                 | bytes_below(word ^ EACH_BYTE('"'), 1) | bytes_below(word ^ EACH_BYTE('\\'), 1);
        word ^= EACH_BYTE(' ');
        if (marked != 0) {
            letters = trailing_zeros(marked) / 8;
            word &= ((uint64_t)1 << 8 * letters) - 1;
        }
        filled |= word;
        at += letters;
    }
    *flags |= filled != 0;
    reader->at = at;
#else
    (void)reader;
    (void)flags;
#endif
}

/* Read a string; `at` is its first quote, and then behind its last. */
static int
read_text(Reader *reader, int *flags)
{
    *flags = 0;
    reader->at++;
    skip_letters(reader, flags);
    while (reader->at < reader->end) {
        Byte byte = *reader->at;
        if (byte == '"') {
            reader->at++;
            return DONE;
        }
        if (byte == '\\') {
            if (!read_escape(reader, flags)) {
                return TO_PYTHON;
            }
            skip_letters(reader, flags);
        } else if (byte >= 0x80) {
            int length = wide_length(reader->at, reader->end);
            if (length == 0) {
                return TO_PYTHON;
            }
            *flags |= WIDE | (may_be_blank(reader->at) ? 0 : FILLED);
            reader->at += length;
            skip_letters(reader, flags);
        } else if (byte < 0x20) {
            return TO_PYTHON;
        } else {
            *flags |= byte != ' ';
            reader->at++;
        }
    }
    return TO_PYTHON;
}

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MOST_DECIMALS 22 /* whose power of ten is exact */

/* Convert the text of a float, rounded as by float(). */
static int
convert_real(const Byte *start, size_t length, double *number)
{
    char text[MOST_DIGITS + 16];
    if (length >= sizeof text) {
        return TO_PYTHON;
    }
    memcpy(text, start, length);
    text[length] = 0;
    *number = PyOS_string_to_double(text, NULL, NULL);
    return *number == -1.0 && PyErr_Occurred() ? FAILED : DONE;
}

/* Read digits into a number; return how many there are, those of the number in `significant`. */
static Py_ssize_t
read_digits(Reader *reader, uint64_t *number, Py_ssize_t *significant)
{
    const Byte *start = reader->at, *at = start, *end = reader->end;
    uint64_t total = *number;
    Py_ssize_t used = *significant;
    for (; at < end && (Byte)(*at - '0') < 10; at++) {
        if (used < MOST_WHOLE_DIGITS) {
            total = total * 10 + (Byte)(*at - '0');
        }
        used += total > 0;
    }
    *number = total;
    *significant = used;
    reader->at = at;
    return at - start;
}

/* Read the fraction and the exponent of a number; `digits` are those before the point. */
static int
read_real(Reader *reader, Token *token, uint64_t number, Py_ssize_t digits, Py_ssize_t significant)
{
    const Byte *start = reader->begin + token->start;
    Py_ssize_t decimals = 0;
    int has_exponent = 0, done = DONE;
    if (*reader->at == '.') {
        reader->at++;
        decimals = read_digits(reader, &number, &significant);
        if (decimals == 0) {
            return TO_PYTHON;
        }
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        uint64_t exponent = 0;
        Py_ssize_t written = 0;
        has_exponent = 1;
        reader->at++;
        if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-')) {
            reader->at++;
        }
        written = read_digits(reader, &exponent, &(Py_ssize_t){0});
        if (written == 0 || written > 2) {
            return TO_PYTHON; /* it may be infinite */
        }
    }
    if (digits + decimals > MOST_DIGITS) {
        return TO_PYTHON;
    }
    token->type = IS_REAL;
    if (!has_exponent && significant <= EXACT_DIGITS && decimals <= MOST_DECIMALS
        && FLT_EVAL_METHOD == 0) {
        /* Both numbers are exact, so the quotient is rounded correctly. */
        token->is.real = (double)number / POWERS[decimals];
        token->is.real = *start == '-' ? -token->is.real : token->is.real;
    } else {
        done = convert_real(start, (size_t)(reader->at - start), &token->is.real);
    }
    /* The shortest text of a float is the only one with at most 15 digits, without an exponent
       from 0.0001 on, and with at least one decimal. */
    if (has_exponent || digits > EXACT_DIGITS || (reader->at[-1] == '0' && decimals > 1)
        || (token->is.real != 0.0 && fabs(token->is.real) < 0.001)) {
        reader->deviations++;
    } else if (significant > EXACT_DIGITS) {
        reader->long_reals++;
    }
    token->hash = hash_real(token->is.real);
    return done;
}

/* Read an integer or a float. */
static int
read_number(Reader *reader)
{
    Py_ssize_t index = add_token(reader, IS_WHOLE), digits, significant = 0;
    uint64_t number = 0;
    Token *token;
    int negative, done = DONE;
    if (index < 0) {
        return FAILED;
    }
    token = &reader->tokens[index];
    negative = *reader->at == '-';
    reader->at += negative;
    digits = read_digits(reader, &number, &significant);
    if (digits == 0 || digits > MOST_WHOLE_DIGITS || (digits > 1 && reader->at[-digits] == '0')) {
        return TO_PYTHON;
    }
    if (reader->at < reader->end
        && (*reader->at == '.' || *reader->at == 'e' || *reader->at == 'E')) {
        done = read_real(reader, token, number, digits, significant);
    } else if (negative && number == 0) {
        return TO_PYTHON;
    } else {
        token->is.whole = negative ? -(int64_t)number : (int64_t)number;
        token->hash = mixed(1, (uint64_t)token->is.whole);
    }
    end_token(reader, token);
    return done;
}

/* Skip a text; 0 if the line continues with another one. */
int
skip_text(Reader *reader, const char *text, size_t length)
{
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, text, length) != 0) {
        return 0;
    }
    reader->at += length;
    return 1;
}

/* Read `null`, `true` or `false`. */
static int
read_word(Reader *reader, int type, const char *word)
{
    Py_ssize_t index = add_token(reader, type);
    if (index < 0) {
        return FAILED;
    }
    if (!skip_text(reader, word, strlen(word))) {
        return TO_PYTHON;
    }
    reader->tokens[index].hash = mixed(3, (uint64_t)type);
    end_token(reader, &reader->tokens[index]);
    return DONE;
}

/* Read a string as a value. */
static int
read_string(Reader *reader)
{
    Py_ssize_t index = add_token(reader, IS_TEXT);
    Token *token;
    int flags;
    if (index < 0) {
        return FAILED;
    }
    if (!read_text(reader, &flags)) {
        return TO_PYTHON;
    }
    token = &reader->tokens[index];
    token->flags = (uint8_t)flags;
    end_token(reader, token);
    token->hash = hash_bytes(reader->begin + token->start + 1, token->length - 2);
    return DONE;
}

/* Pass flags on to a container from a value inside it. */
static void
inherit(Token *outer, const Token *inner)
{
    outer->flags |= inner->flags & INHERITED;
    outer->flags |= inner->type >= IS_LIST ? NESTED : 0;
}

/* Read a list; `depth` is how many containers may be inside each other in it, `path` the length of
   its path. */
static int
read_list(Reader *reader, Py_ssize_t depth, uint64_t path)
{
    Py_ssize_t index = add_token(reader, IS_LIST);
    uint64_t hash = mixed(4, 4), digits = 1, more_digits = 10;
    uint32_t count = 0;
    if (index < 0) {
        return FAILED;
    }
    reader->at++;
    if (!skip(reader, ']')) {
        do {
            Py_ssize_t inner = (Py_ssize_t)reader->number;
            int done;
            if (count == more_digits) {
                digits++;
                more_digits *= 10;
            }
            done = read_value(reader, depth, path + digits + 2);
            if (done != DONE) {
                return done;
            }
            hash = mixed(hash, reader->tokens[inner].hash);
            inherit(&reader->tokens[index], &reader->tokens[inner]);
            count++;
        } while (skip(reader, ','));
        if (!skip(reader, ']')) {
            return TO_PYTHON;
        }
    }
    reader->tokens[index].is.count = count;
    reader->tokens[index].hash = hash;
    end_token(reader, &reader->tokens[index]);
    return DONE;
}

#define FEW_KEYS 8

/* Whether the keys of an object are unique; those with the same hash are left to Python. */
static int
check_keys(Reader *reader, Py_ssize_t object, uint32_t count)
{
    size_t size = 1;
    uint32_t member = (uint32_t)object + 1;
    if (count <= FEW_KEYS) {
        uint64_t seen[FEW_KEYS];
        for (uint32_t i = 0; i < count; i++, member = reader->tokens[member].next) {
            seen[i] = reader->tokens[member].key_hash;
            for (uint32_t j = 0; j < i; j++) {
                if (seen[i] == seen[j]) {
                    return TO_PYTHON;
                }
            }
        }
        return DONE;
    }
    while (size < 2 * (size_t)count) {
        size *= 2;
    }
    if (size > reader->key_capacity) {
        uint64_t *keys = PyMem_Realloc(reader->keys, size * sizeof *keys);
        if (keys == NULL) {
            PyErr_NoMemory();
            return FAILED;
        }
        reader->keys = keys;
        reader->key_capacity = size;
    }
    memset(reader->keys, 0, size * sizeof *reader->keys);
    for (uint32_t i = 0; i < count; i++, member = reader->tokens[member].next) {
        uint64_t hash = reader->tokens[member].key_hash | 1; /* 0 is a free place */
        size_t slot = (size_t)(hash >> 1) & (size - 1);
        while (reader->keys[slot] != 0) {
            if (reader->keys[slot] == hash) {
                return TO_PYTHON;
            }
            slot = (slot + 1) & (size - 1);
        }
        reader->keys[slot] = hash;
    }
    return DONE;
}

/* The number of a known key, which is remembered if it is new; 0 if there are too many. */
static uint8_t
know_key(Reader *reader, const Byte *text, size_t length, uint64_t hash, int flags)
{
    size_t slot = (size_t)hash & (KNOWN_PLACES - 1);
    uint8_t number = reader->known_places[slot];
    while (number != 0) {
        const KnownKey *known = &reader->known[number];
        if (known->hash == hash && known->length == length
            && are_same_bytes(known->text, text, length)) {
            return number;
        }
        slot = (slot + 1) & (KNOWN_PLACES - 1);
        number = reader->known_places[slot];
    }
    if (reader->known_number == MOST_KNOWN) {
        return 0;
    }
    number = ++reader->known_number;
    reader->known[number] = (KnownKey){text, hash, (uint32_t)length, (uint8_t)flags, 0};
    reader->known_places[slot] = number;
    return number;
}

/* Read a key of an object and the colon after it into a token without a value; `number` is that of
   a known key, or 0. */
static int
read_key(Reader *reader, Token *token, uint8_t *number, int *is_wide)
{
    const KnownKey *known = &reader->known[ *number = reader->known[reader->last_known].next];
    const Byte *text;
    size_t length;
    int flags;
    skip_blanks(reader);
    text = reader->at + 1;
    if (*number > 0 && reader->end - reader->at > (Py_ssize_t)known->length + 1
        && *reader->at == '"' && are_same_bytes(text, known->text, known->length + 1)) {
        length = known->length;
        flags = known->flags;
        reader->at += length + 2;
        token->key_hash = known->hash;
    } else {
        if (reader->at >= reader->end || *reader->at != '"' || !read_text(reader, &flags)
            || (flags & ESCAPED)) {
            return TO_PYTHON;
        }
        length = (size_t)(reader->at - text) - 1;
        token->key_hash = hash_bytes(text, length);
        *number = know_key(reader, text, length, token->key_hash, flags);
        reader->known[reader->last_known].next = *number;
    }
    reader->last_known = *number;
    token->key = (uint32_t)(text - reader->begin);
    token->key_length = (uint32_t)length;
    *is_wide = flags & WIDE;
    return (Py_ssize_t)length <= reader->limits.key_characters && skip(reader, ':') ? DONE
                                                                                    : TO_PYTHON;
}

/* Read an object; `depth` and `path` are as in `read_list`. */
static int
read_object(Reader *reader, Py_ssize_t depth, uint64_t path)
{
    Py_ssize_t index = add_token(reader, IS_OBJECT);
    uint64_t sum = 0;  /* of the hashes of members, so that their order does not matter */
    uint64_t seen = 0; /* a bit for each known key */
    uint32_t count = 0;
    int all_known = 1;
    if (index < 0) {
        return FAILED;
    }
    reader->at++;
    if (!skip(reader, '}')) {
        do {
            size_t member = reader->number;
            Token key, *token;
            uint8_t number;
            int is_wide, done = read_key(reader, &key, &number, &is_wide);
            if (done != DONE || (number > 0 && (seen >> number & 1))) {
                return TO_PYTHON;
            }
            seen |= (uint64_t)1 << number;
            all_known &= number > 0;
            done = read_value(reader, depth, path + key.key_length + 1);
            if (done != DONE) {
                return done;
            }
            token = &reader->tokens[member];
            token->key = key.key;
            token->key_length = key.key_length;
            token->key_hash = key.key_hash;
            sum += mixed(key.key_hash, token->hash);
            inherit(&reader->tokens[index], token);
            reader->tokens[index].flags |= (uint8_t)is_wide;
            count++;
        } while (skip(reader, ','));
        if (!skip(reader, '}')) {
            return TO_PYTHON;
        }
    }
    reader->tokens[index].is.count = count;
    reader->tokens[index].hash = mixed(5, sum);
    end_token(reader, &reader->tokens[index]);
    return all_known ? DONE : check_keys(reader, index, count);
}

/* Read a value with at most `depth` containers inside each other; `path` is the length of its path.
 */
static int
read_value(Reader *reader, Py_ssize_t depth, uint64_t path)
{
    skip_blanks(reader);
    reader->paths += path;
    if (reader->at >= reader->end) {
        return TO_PYTHON;
    }
    switch (*reader->at) {
    case '"':
        return read_string(reader);
    case '{':
        return depth > 0 ? read_object(reader, depth - 1, path) : TO_PYTHON;
    case '[':
        return depth > 0 ? read_list(reader, depth - 1, path) : TO_PYTHON;
    case 'n':
        return read_word(reader, IS_NULL, "null");
    case 't':
        return read_word(reader, IS_TRUE, "true");
    case 'f':
        return read_word(reader, IS_FALSE, "false");
    default:
        return read_number(reader);
    }
}

/* Read a value as a new tape. */
int
read_root(Reader *reader)
{
    reader->number = 0;
    reader->last_known = 0;
    reader->paths = reader->deviations = reader->long_reals = 0;
    return read_value(reader, reader->limits.depth, 0);
}

/* Read a whole line as one value (`parse_bytes`, `check_paths`). */
int
read_line(Reader *reader, const Byte *begin, const Byte *end)
{
    int64_t excess;
    int done;
    reader->begin = reader->at = begin;
    reader->end = end;
    if (end - begin > reader->limits.line_bytes || end - begin > LONGEST_LINE) {
        return TO_PYTHON;
    }
    done = read_root(reader);
    if (done != DONE) {
        return done;
    }
    skip_blanks(reader);
    excess = (int64_t)reader->paths - PER_VALUE * (int64_t)reader->number;
    if (reader->at < reader->end || excess > reader->limits.path_characters) {
        return TO_PYTHON;
    }
    return DONE;
}
