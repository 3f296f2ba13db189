/*
 * zip_name.c: a member's name as a key. Flag bit 11 says that it is UTF-8; without it, it is code page 437 (APPNOTE, appendix D), or
 * the Unicode path extra field has the right one (4.6.9). Programs on Unix also write UTF-8 and say nothing: what is well-formed
 * UTF-8 is taken for it, because text of that code page hardly ever is.
 */
#include <string.h>

#include "base/deflate_context.h"
#include "base/endian.h"
#include "base/str.h"
#include "store/zip_impl.h"

#define EXTRA_UNICODE_PATH 0x7075

/* Bytes 0x80 to 0xff of code page 437. */
static const char *const code_page_437[128] = {
	"Ç", "ü", "é", "â", "ä", "à", "å", "ç", "ê", "ë", "è", "ï", "î", "ì", "Ä", "Å", "É", "æ",	   "Æ", "ô", "ö", "ò",
	"û", "ù", "ÿ", "Ö", "Ü", "¢", "£", "¥", "₧", "ƒ", "á", "í", "ó", "ú", "ñ", "Ñ", "ª", "º",	   "¿", "⌐", "¬", "½",
	"¼", "¡", "«", "»", "░", "▒", "▓", "│", "┤", "╡", "╢", "╖", "╕", "╣", "║", "╗", "╝", "╜",	   "╛", "┐", "└", "┴",
	"┬", "├", "─", "┼", "╞", "╟", "╚", "╔", "╩", "╦", "╠", "═", "╬", "╧", "╨", "╤", "╥", "╙",	   "╘", "╒", "╓", "╫",
	"╪", "┘", "┌", "█", "▄", "▌", "▐", "▀", "α", "ß", "Γ", "π", "Σ", "σ", "µ", "τ", "Φ", "Θ",	   "Ω", "δ", "∞", "φ",
	"ε", "∩", "≡", "±", "≥", "≤", "⌠", "⌡", "÷", "≈", "°", "∙", "·", "√", "ⁿ", "²", "■", "\u00a0",
};

const uint8_t *zip_extra_find(const uint8_t *extra, size_t size, uint16_t id, size_t *ret_size)
{
	while (size >= 4) {
		size_t n = load_le16(extra + 2);
		if (n > size - 4)
			return NULL;
		if (load_le16(extra) == id) {
			*ret_size = n;
			return extra + 4;
		}
		extra += 4 + n;
		size -= 4 + n;
	}
	return NULL;
}

static bool is_utf8(const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t n = str_utf8_length(text + i, size - i);
		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

/* Version 1, the CRC-32 of the name that it stands for, and the name: the field of a renamed member says nothing. */
static bool append_unicode_path(struct str *str, const uint8_t *raw, size_t size, const uint8_t *extra,
								size_t extra_size)
{
	size_t n = 0;
	const uint8_t *field = zip_extra_find(extra, extra_size, EXTRA_UNICODE_PATH, &n);
	if (!field || n < 5 || field[0] != 1 || load_le32(field + 1) != libdeflate_crc32(0, raw, size))
		return false;
	str_append_bytes(str, field + 5, n - 5);
	return true;
}

void zip_name_append(struct str *str, const uint8_t *raw, size_t size, unsigned flags, const uint8_t *extra,
					 size_t extra_size)
{
	if (!(flags & ZIP_FLAG_UTF8) && append_unicode_path(str, raw, size, extra, extra_size))
		return;
	if ((flags & ZIP_FLAG_UTF8) || is_utf8((const char *)raw, size)) {
		str_append_bytes(str, raw, size);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		if (raw[i] < 0x80)
			str_append_bytes(str, &raw[i], 1);
		else
			str_append(str, code_page_437[raw[i] - 0x80]);
	}
}
