//! Texts that a JSON parser has to take or to refuse (RFC 8259), written for this crate one for each case that JSONTestSuite
//! lists by name (<https://github.com/nst/JSONTestSuite>: `y_`, `n_` and `i_`); the bytes are its own.

use super::hooks::{Found, checked};
use crate::hooks::{Mistake, Problem};

/// SPEC 1.6, 1.11, CASES 4, 7: of 323 cases, each as the whole file and wherever in it a value may stand.
#[test]
fn what_is_json_is_read_and_what_is_not_is_one_report() {
    let nested = |count: usize, open: &str, close: &str| {
        [open.repeat(count), close.repeat(count)]
            .concat()
            .into_bytes()
    };
    let built = [
        (
            Case::No,
            "structure_100000_opening_arrays",
            nested(100_000, "[", ""),
        ),
        (
            Case::No,
            "structure_open_array_object",
            [nested(50_000, "[{\"\":", ""), b"\n".to_vec()].concat(),
        ),
        (
            Case::Either,
            "structure_500_nested_arrays",
            nested(500, "[", "]"),
        ),
    ];
    let written = [(Case::Yes, YES), (Case::No, NO), (Case::Either, EITHER)];
    let written = written.into_iter().flat_map(|(case, rows)| {
        rows.iter()
            .map(move |(name, text)| (case, *name, text.to_vec()))
    });
    let mut count = 0;
    for (case, name, text) in written.chain(built) {
        let whole = read(&[&text]);
        assert!(
            whole.hooks.is_empty() && !whole.problems.is_empty(),
            "{name}: {whole:?}"
        );
        let is_json = case.holds(name, !whole.problems.iter().any(is_not_json));
        assert!(is_json || whole.problems.len() == 1, "{name}: {whole:?}");

        let schema = |before: &str, after: &str| {
            let start = ["{\"$schema\":", before].concat();
            read(&[
                start.as_bytes(),
                &text,
                after.as_bytes(),
                b",\"hooks\":[{\"on\":\"turn-started\",\"run\":[\"a\"]}]}",
            ])
        };
        let as_value = is_in_force(name, &schema("", ""));
        case.holds(name, as_value);
        // A blank is no value, and no array needs one.
        if !text.trim_ascii().is_empty() {
            assert_eq!(is_in_force(name, &schema("[", "]")), as_value, "{name}");
            assert_eq!(
                is_in_force(name, &schema("{\"a\":[0,", "]}")),
                as_value,
                "{name}"
            );
        }

        // Where a value of ours should stand it is one, or a problem.
        for (before, after) in [
            ("{\"hooks\":", "}"),
            ("{\"hooks\":[", "]}"),
            ("{\"hooks\":[{\"run\":[\"a\"],\"on\":", "}]}"),
            ("{\"hooks\":[{\"on\":\"turn-started\",\"run\":", "}]}"),
            (
                "{\"hooks\":[{\"on\":\"turn-started\",\"run\":[\"a\",",
                "]}]}",
            ),
            (
                "{\"hooks\":[{\"on\":\"tool-finished\",\"run\":[\"a\"],\"tool\":",
                "}]}",
            ),
            (
                "{\"hooks\":[{\"on\":\"turn-started\",\"run\":[\"a\"],\"timeout\":",
                "}]}",
            ),
        ] {
            let found = read(&[before.as_bytes(), &text, after.as_bytes()]);
            let is_json = !found.problems.iter().any(is_not_json);
            assert!(
                is_json == as_value || text.trim_ascii().is_empty(),
                "{name}: {found:?}"
            );
            assert!(
                is_json || found.problems.len() == 1 && found.hooks.is_empty(),
                "{name}: {found:?}"
            );
        }
        count += 1;
    }
    assert_eq!(count, 323);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Yes,
    No,
    /// A parser is free to.
    Either,
}

impl Case {
    /// Gives `is_json` back, where it may be so.
    #[track_caller]
    fn holds(self, name: &str, is_json: bool) -> bool {
        assert!(
            self == Case::Either || is_json == (self == Case::Yes),
            "{name}: {self:?}"
        );
        is_json
    }
}

/// Reads the parts as one text, of which every property holds.
fn read(parts: &[&[u8]]) -> Found {
    checked(&parts.concat())
}

/// Whether the one hook is in force, without a report; else there is one report of the text.
#[track_caller]
fn is_in_force(name: &str, found: &Found) -> bool {
    let is_in_force = found.hooks.len() == 1 && found.problems.is_empty();
    let is_refused = found.hooks.is_empty()
        && found.problems.len() == 1
        && found.problems.iter().all(is_not_json);
    assert!(is_in_force || is_refused, "{name}: {found:?}");
    is_in_force
}

fn is_not_json(problem: &Problem) -> bool {
    matches!(problem.mistake, Mistake::NotJson(_) | Mistake::NotUtf8)
}

/// To be taken.
#[rustfmt::skip]
const YES: &[(&str, &[u8])] = &[
    ("array_arraysWithSpaces", b"[[ ]   ]"),
    ("array_empty", b"[]"),
    ("array_empty-string", b"[\"\"]"),
    ("array_ending_with_newline", b"[\"k\"]\n"),
    ("array_false", b"[false]"),
    ("array_heterogeneous", b"[null, 2, \"3\", {}]"),
    ("array_null", b"[null]"),
    ("array_with_1_and_newline", b"[2\n]"),
    ("array_with_leading_space", b" [2]"),
    ("array_with_several_null", b"[2,null,null,null,3]"),
    ("array_with_trailing_space", b"[3] "),
    ("number", b"[234e76]"),
    ("number_0e+1", b"[0e+2]"),
    ("number_0e1", b"[0e2]"),
    ("number_after_space", b"[ 5]"),
    ("number_double_close_to_zero", b"[-0.00000000000000000000000000000000000000000000000000000000000000000000000000002]\n"),
    ("number_int_with_exp", b"[30e2]"),
    ("number_minus_zero", b"[-0]"),
    ("number_negative_int", b"[-234]"),
    ("number_negative_one", b"[-1]"),
    ("number_negative_zero", b"[ -0 ]"),
    ("number_real_capital_e", b"[2E33]"),
    ("number_real_capital_e_neg_exp", b"[2E-3]"),
    ("number_real_capital_e_pos_exp", b"[2E+3]"),
    ("number_real_exponent", b"[234e56]"),
    ("number_real_fraction_exponent", b"[234.567e89]"),
    ("number_real_neg_exp", b"[2e-3]"),
    ("number_real_pos_exponent", b"[2e+3]"),
    ("number_simple_int", b"[234]"),
    ("number_simple_real", b"[234.567891]"),
    ("object", b"{\"key\":\"value\", \"other\":\"thing\"}"),
    ("object_basic", b"{\"key\":\"value\"}"),
    ("object_duplicated_key", b"{\"k\":\"v\",\"k\":\"w\"}"),
    ("object_duplicated_key_and_value", b"{\"k\":\"v\",\"k\":\"v\"}"),
    ("object_empty", b"{}"),
    ("object_empty_key", b"{\"\":1}"),
    ("object_escaped_null_in_key", b"{\"left\\u0000right\": 7}"),
    ("object_extreme_numbers", b"{ \"least\": -2.0e+29, \"most\": 2.0e+29 }"),
    ("object_long_strings", b"{\"y\":[{\"id\": \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"}], \"id\": \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"}"),
    ("object_simple", b"{\"k\":[]}"),
    ("object_string_unicode", b"{\"name\":\"\\u0416\\u0443\\u043a \\u0432 \\u0442\\u0440\\u0430\\u0432\\u0435\" }"),
    ("object_with_newlines", b"{\n\"k\": \"v\"\n}"),
    ("string_1_2_3_bytes_UTF-8_sequences", b"[\"\\u0061\\u012b\\u12AC\"]"),
    ("string_accepted_surrogate_pair", b"[\"\\uD802\\udc38\"]"),
    ("string_accepted_surrogate_pairs", b"[\"\\ud83d\\ude38\\ud83d\\udc8e\"]"),
    ("string_allowed_escapes", b"[\"\\t\\r\\n\\f\\b\\/\\\\\\\"\"]"),
    ("string_backslash_and_u_escaped_zero", b"[\"\\\\u0000\"]"),
    ("string_backslash_doublequotes", b"[\"\\\"\"]"),
    ("string_comments", b"[\"k/*l*/m/*n//o\"]"),
    ("string_double_escape_a", b"[\"\\\\a\"]"),
    ("string_double_escape_n", b"[\"\\\\n\"]"),
    ("string_escaped_control_character", b"[\"\\u0013\"]"),
    ("string_escaped_noncharacter", b"[\"\\uFFFF\"]"),
    ("string_in_array", b"[\"word\"]"),
    ("string_in_array_with_leading_space", b"[ \"word\"]"),
    ("string_last_surrogates_1_and_2", b"[\"\\uDBFF\\uDFFF\"]"),
    ("string_nbsp_uescaped", b"[\"two\\u00A0words\"]"),
    ("string_nonCharacterInUTF-8_U+10FFFF", b"[\"\xf4\x8f\xbf\xbf\"]"),
    ("string_nonCharacterInUTF-8_U+FFFF", b"[\"\xef\xbf\xbf\"]"),
    ("string_null_escape", b"[\"\\u0000\"]"),
    ("string_one-byte-utf-8", b"[\"\\u002d\"]"),
    ("string_pi", b"[\"\xcf\x80\"]"),
    ("string_reservedCharacterInUTF-8_U+1BFFF", b"[\"\xf0\x9b\xbf\xbf\"]"),
    ("string_simple_ascii", b"[\"word \"]"),
    ("string_space", b"\" \""),
    ("string_surrogates_U+1D11E_MUSICAL_SYMBOL_G_CLEF", b"[\"\\uD834\\uDd1e\"]"),
    ("string_three-byte-utf-8", b"[\"\\u0822\"]"),
    ("string_two-byte-utf-8", b"[\"\\u0124\"]"),
    ("string_u+2028_line_sep", b"[\"\xe2\x80\xa8\"]"),
    ("string_u+2029_par_sep", b"[\"\xe2\x80\xa9\"]"),
    ("string_uEscape", b"[\"\\u0062\\u30ab\\u30BF\\u30ab\\u30ca\"]"),
    ("string_uescaped_newline", b"[\"two\\u000Alines\"]"),
    ("string_unescaped_char_delete", b"[\"\x7f\"]"),
    ("string_unicode", b"[\"\\uA66E\"]"),
    ("string_unicode_2", b"[\"\xe2\x8d\x82\xe3\x88\xb5\xe2\x8d\x82\"]"),
    ("string_unicode_escaped_double_quote", b"[\"\\u0022\"]"),
    ("string_unicode_U+10FFFE_nonchar", b"[\"\\uDBFF\\uDFFE\"]"),
    ("string_unicode_U+1FFFE_nonchar", b"[\"\\uD83F\\uDFFE\"]"),
    ("string_unicode_U+200B_ZERO_WIDTH_SPACE", b"[\"\\u200B\"]"),
    ("string_unicode_U+2064_invisible_plus", b"[\"\\u2064\"]"),
    ("string_unicode_U+FDD0_nonchar", b"[\"\\uFDD0\"]"),
    ("string_unicode_U+FFFE_nonchar", b"[\"\\uFFFE\"]"),
    ("string_unicodeEscapedBackslash", b"[\"\\u005C\"]"),
    ("string_utf8", b"[\"\xe2\x82\xac\xf0\x9d\x84\x9e\"]"),
    ("string_with_del_character", b"[\"k\x7fl\"]"),
    ("structure_lonely_false", b"false"),
    ("structure_lonely_int", b"43"),
    ("structure_lonely_negative_real", b"-0.2"),
    ("structure_lonely_null", b"null"),
    ("structure_lonely_string", b"\"word\""),
    ("structure_lonely_true", b"true"),
    ("structure_string_empty", b"\"\""),
    ("structure_trailing_newline", b"[\"k\", 1]\n"),
    ("structure_true_in_array", b"[true]"),
    ("structure_whitespace_array", b" [] "),
];

/// To be refused.
#[rustfmt::skip]
const NO: &[(&str, &[u8])] = &[
    ("array_1_true_without_comma", b"[7 false]"),
    ("array_a_invalid_utf8", b"[z\xff]"),
    ("array_colon_instead_of_comma", b"[\"k\": 2]"),
    ("array_comma_after_close", b"[\"k\"],"),
    ("array_comma_and_number", b"[,5]"),
    ("array_double_comma", b"[5,,6]"),
    ("array_double_extra_comma", b"[\"k\",,]"),
    ("array_extra_close", b"[\"k\"]]"),
    ("array_extra_comma", b"[\"k\",]"),
    ("array_incomplete", b"[\"k\""),
    ("array_incomplete_invalid_value", b"[k"),
    ("array_inner_array_no_comma", b"[5[6]]"),
    ("array_invalid_utf8", b"[\xc3]"),
    ("array_items_separated_by_semicolon", b"[5;6]"),
    ("array_just_comma", b"[,]"),
    ("array_just_minus", b"[-]"),
    ("array_missing_value", b"[   , \"\"]"),
    ("array_newlines_unclosed", b"[\"k\",\n6\n,7,"),
    ("array_number_and_comma", b"[5,]"),
    ("array_number_and_several_commas", b"[5,,,]"),
    ("array_spaces_vertical_tab_formfeed", b"[\"\x0bk\"\\f]"),
    ("array_star_inside", b"[*]"),
    ("array_unclosed", b"[\"\""),
    ("array_unclosed_trailing_comma", b"[5,"),
    ("array_unclosed_with_new_lines", b"[5,\n6\n,7"),
    ("array_unclosed_with_object_inside", b"[{}"),
    ("incomplete_false", b"[fals]"),
    ("incomplete_null", b"[nul]"),
    ("incomplete_true", b"[tru]"),
    ("multidigit_number_then_00", b"456\x00"),
    ("number_++", b"[++567]"),
    ("number_+1", b"[+2]"),
    ("number_+Inf", b"[+Inf]"),
    ("number_-01", b"[-02]"),
    ("number_-1.0.", b"[-2.0.]"),
    ("number_-2.", b"[-3.]"),
    ("number_-NaN", b"[-NaN]"),
    ("number_.-1", b"[.-2]"),
    ("number_.2e-3", b"[.3e-4]"),
    ("number_0.1.2", b"[0.3.4]"),
    ("number_0.3e", b"[0.4e]"),
    ("number_0.3e+", b"[0.4e+]"),
    ("number_0.e1", b"[0.e2]"),
    ("number_0_capital_E", b"[0E]"),
    ("number_0_capital_E+", b"[0E+]"),
    ("number_0e", b"[0e]"),
    ("number_0e+", b"[0e+]"),
    ("number_00.0", b"[00.0]"),
    ("number_00e0", b"[00e0]"),
    ("number_-00.0", b"[-00.0]"),
    ("number_-00e0", b"[-00e0]"),
    ("number_1.0e", b"[2.0e]"),
    ("number_1.0e+", b"[2.0e+]"),
    ("number_1.0e-", b"[2.0e-]"),
    ("number_1_000", b"[2 000.0]"),
    ("number_1eE2", b"[2eE3]"),
    ("number_2.e+3", b"[3.e+4]"),
    ("number_2.e-3", b"[3.e-4]"),
    ("number_2.e3", b"[3.e4]"),
    ("number_9.e+", b"[8.e+]"),
    ("number_expression", b"[3+4]"),
    ("number_hex_1_digit", b"[0x7]"),
    ("number_hex_2_digits", b"[0x7f]"),
    ("number_Inf", b"[Inf]"),
    ("number_infinity", b"[Infinity]"),
    ("number_invalid+-", b"[0e+-2]"),
    ("number_invalid-negative-real", b"[-567.89foo]"),
    ("number_invalid-utf-8-in-bigger-int", b"[567\xe5]"),
    ("number_invalid-utf-8-in-exponent", b"[2e3\xe5]"),
    ("number_invalid-utf-8-in-int", b"[0\xe5]\n"),
    ("number_minus_infinity", b"[-Infinity]"),
    ("number_minus_sign_with_trailing_garbage", b"[-abc]"),
    ("number_minus_space_1", b"[- 2]"),
    ("number_NaN", b"[NaN]"),
    ("number_neg_int_starting_with_zero", b"[-034]"),
    ("number_neg_real_without_int_part", b"[-.567]"),
    ("number_neg_with_garbage_at_end", b"[-2z]"),
    ("number_real_garbage_after_e", b"[2ez]"),
    ("number_real_with_invalid_utf8_after_e", b"[2e\xe5]"),
    ("number_real_without_fractional_part", b"[2.]"),
    ("number_starting_with_dot", b"[.567]"),
    ("number_U+FF11_fullwidth_digit_one", b"[\xef\xbc\x91]"),
    ("number_with_alpha", b"[3.4b-5]"),
    ("number_with_alpha_char", b"[3.4567890123q]"),
    ("number_with_leading_zero", b"[034]"),
    ("object_bad_value", b"[\"k\", falsehood]"),
    ("object_bracket_key", b"{[: \"k\"}\n"),
    ("object_comma_instead_of_colon", b"{\"k\", false}"),
    ("object_double_colon", b"{\"k\"::\"v\"}"),
    ("object_emoji", b"{\xf0\x9f\x98\x80}"),
    ("object_garbage_at_end", b"{\"k\":\"v\" 567}"),
    ("object_key_with_single_quotes", b"{k: 'v'}"),
    ("object_lone_continuation_byte_in_key_and_trailing_comma", b"{\"\xb0\":\"1\",}"),
    ("object_missing_colon", b"{\"k\" v}"),
    ("object_missing_key", b"{:\"v\"}"),
    ("object_missing_semicolon", b"{\"k\" \"v\"}"),
    ("object_missing_value", b"{\"k\":"),
    ("object_no-colon", b"{\"k\""),
    ("object_non_string_key", b"{5:5}"),
    ("object_non_string_key_but_huge_number_instead", b"{8888E8888:5}"),
    ("object_repeated_null_null", b"{null:null,null:null}"),
    ("object_several_trailing_commas", b"{\"key\":1,,,,}"),
    ("object_single_quote", b"{'k':1}"),
    ("object_trailing_comma", b"{\"key\":1,}"),
    ("object_trailing_comment", b"{\"k\":\"v\"}/**/"),
    ("object_trailing_comment_open", b"{\"k\":\"v\"}/**//"),
    ("object_trailing_comment_slash_open", b"{\"k\":\"v\"}//"),
    ("object_trailing_comment_slash_open_incomplete", b"{\"k\":\"v\"}/"),
    ("object_two_commas_in_a_row", b"{\"k\":\"v\",,\"l\":\"w\"}"),
    ("object_unquoted_key", b"{k: \"v\"}"),
    ("object_unterminated-value", b"{\"k\":\"v"),
    ("object_with_single_string", b"{ \"foo\" : \"bar\", \"baz\" }"),
    ("object_with_trailing_garbage", b"{\"k\":\"v\"}#"),
    ("single_space", b" "),
    ("string_1_surrogate_then_escape", b"[\"\\uD801\\\"]"),
    ("string_1_surrogate_then_escape_u", b"[\"\\uD801\\u\"]"),
    ("string_1_surrogate_then_escape_u1", b"[\"\\uD801\\u2\"]"),
    ("string_1_surrogate_then_escape_u1x", b"[\"\\uD801\\u2x\"]"),
    ("string_accentuated_char_no_quotes", b"[\xc3\xa8]"),
    ("string_backslash_00", b"[\"\\\x00\"]"),
    ("string_escape_x", b"[\"\\x41\"]"),
    ("string_escaped_backslash_bad", b"[\"\\\\\\\"]"),
    ("string_escaped_ctrl_char_tab", b"[\"\\\t\"]"),
    ("string_escaped_emoji", b"[\"\\\xf0\x9f\x98\x80\"]"),
    ("string_incomplete_escape", b"[\"\\\"]"),
    ("string_incomplete_escaped_character", b"[\"\\u01F\"]"),
    ("string_incomplete_surrogate", b"[\"\\uD835\\uDc\"]"),
    ("string_incomplete_surrogate_escape_invalid", b"[\"\\uD801\\uD801\\y\"]"),
    ("string_invalid-utf-8-in-escape", b"[\"\\u\xe5\"]"),
    ("string_invalid_backslash_esc", b"[\"\\k\"]"),
    ("string_invalid_unicode_escape", b"[\"\\uzzzz\"]"),
    ("string_invalid_utf8_after_escape", b"[\"\\\xe5\"]"),
    ("string_leading_uescaped_thinspace", b"[\\u2009\"k\"]"),
    ("string_octal_escape", b"[\"\\102\"]"),
    ("string_no_quotes_with_bad_escape", b"[\\t]"),
    ("string_single_doublequote", b"\""),
    ("string_single_quote", b"['single']"),
    ("string_single_string_no_double_quotes", b"word"),
    ("string_start_escape_unclosed", b"[\"\\"),
    ("string_unescaped_crtl_char", b"[\"k\x00k\"]"),
    ("string_unescaped_newline", b"[\"two\nlines\"]"),
    ("string_unescaped_tab", b"[\"\t\"]"),
    ("string_unicode_CapitalU", b"\"\\UA66E\""),
    ("string_with_trailing_garbage", b"\"\"y"),
    ("structure_angle_bracket_.", b"<.>"),
    ("structure_angle_bracket_null", b"[<null>]"),
    ("structure_array_trailing_garbage", b"[5]z"),
    ("structure_array_with_extra_array_close", b"[5]]"),
    ("structure_array_with_unclosed_string", b"[\"open]"),
    ("structure_ascii-unicode-identifier", b"n\xc3\xa8"),
    ("structure_capitalized_True", b"[False]"),
    ("structure_close_unopened_array", b"5]"),
    ("structure_comma_instead_of_closing_brace", b"{\"k\": false,"),
    ("structure_double_array", b"[][]"),
    ("structure_end_array", b"]"),
    ("structure_incomplete_UTF8_BOM", b"\xef\xbb{}"),
    ("structure_lone-invalid-utf-8", b"\xe5"),
    ("structure_lone-open-bracket", b"["),
    ("structure_no_data", b""),
    ("structure_null-byte-outside-string", b"[\x00]"),
    ("structure_number_with_trailing_garbage", b"3@"),
    ("structure_object_followed_by_closing_object", b"{}}"),
    ("structure_object_unclosed_no_value", b"{\"\":"),
    ("structure_object_with_comment", b"{\"k\":/*note*/\"v\"}"),
    ("structure_object_with_trailing_garbage", b"{\"k\": false} \"v\""),
    ("structure_open_array_apostrophe", b"['"),
    ("structure_open_array_comma", b"[,"),
    ("structure_open_array_open_object", b"[{"),
    ("structure_open_array_open_string", b"[\"k"),
    ("structure_open_array_string", b"[\"k\""),
    ("structure_open_object", b"{"),
    ("structure_open_object_close_array", b"{]"),
    ("structure_open_object_comma", b"{,"),
    ("structure_open_object_open_array", b"{["),
    ("structure_open_object_open_string", b"{\"k"),
    ("structure_open_object_string_with_apostrophes", b"{'k'"),
    ("structure_open_open", b"[\"\\{[\"\\{[\"\\{[\"\\{"),
    ("structure_single_eacute", b"\xe9"),
    ("structure_single_star", b"*"),
    ("structure_trailing_#", b"{\"k\":\"v\"}#{}"),
    ("structure_U+2060_word_joined", b"[\xe2\x81\xa0]"),
    ("structure_uescaped_LF_before_string", b"[\\u000A\"\"]"),
    ("structure_unclosed_array", b"[5"),
    ("structure_unclosed_array_partial_null", b"[ true, nul"),
    ("structure_unclosed_array_unfinished_false", b"[ null, fals"),
    ("structure_unclosed_array_unfinished_true", b"[ null, tru"),
    ("structure_unclosed_object", b"{\"key\":\"value\""),
    ("structure_unicode-identifier", b"\xc3\xa8"),
    ("structure_UTF8_BOM_no_data", b"\xef\xbb\xbf"),
    ("structure_whitespace_formfeed", b"[\x0c]"),
    ("structure_whitespace_U+2060_word_joiner", b"[\xe2\x81\xa0 1]"),
];

/// Either.
#[rustfmt::skip]
const EITHER: &[(&str, &[u8])] = &[
    ("number_double_huge_neg_exp", b"[234.567e-890]"),
    ("number_huge_exp", b"[0.5e0077888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888]"),
    ("number_neg_int_huge_exp", b"[-2e+8888]"),
    ("number_pos_double_huge_exp", b"[2.5e+8888]"),
    ("number_real_neg_overflow", b"[-234234e200000]"),
    ("number_real_pos_overflow", b"[234234e200000]"),
    ("number_real_underflow", b"[234e-20000000]"),
    ("number_too_big_neg_int", b"[-234234234234234234234234234234]"),
    ("number_too_big_pos_int", b"[200000000000000000000]"),
    ("number_very_big_negative_int", b"[-347347347347347347347347347347347347]"),
    ("object_key_lone_2nd_surrogate", b"{\"\\uDFAB\":1}"),
    ("string_1st_surrogate_but_2nd_missing", b"[\"\\uDADB\"]"),
    ("string_1st_valid_surrogate_2nd_invalid", b"[\"\\uD889\\u4321\"]"),
    ("string_incomplete_surrogate_and_escape_valid", b"[\"\\uD801\\n\"]"),
    ("string_incomplete_surrogate_pair", b"[\"\\uDd1fk\"]"),
    ("string_incomplete_surrogates_escape_valid", b"[\"\\uD801\\uD801\\n\"]"),
    ("string_invalid_lonely_surrogate", b"[\"\\ud801\"]"),
    ("string_invalid_surrogate", b"[\"\\ud801abc\"]"),
    ("string_invalid_utf-8", b"[\"\xfe\"]"),
    ("string_inverted_surrogates_U+1D11E", b"[\"\\uDd1e\\uD834\"]"),
    ("string_iso_latin_1", b"[\"\xe8\"]"),
    ("string_lone_second_surrogate", b"[\"\\uDFAB\"]"),
    ("string_lone_utf8_continuation_byte", b"[\"\x82\"]"),
    ("string_not_in_unicode_range", b"[\"\xf4\xbf\xbf\xbe\"]"),
    ("string_overlong_sequence_2_bytes", b"[\"\xc0\xae\"]"),
    ("string_overlong_sequence_6_bytes", b"[\"\xfc\x83\xbf\xbf\xbf\xbe\"]"),
    ("string_overlong_sequence_6_bytes_null", b"[\"\xfc\x80\x80\x80\x80\x81\"]"),
    ("string_truncated-utf-8", b"[\"\xe0\xfe\"]"),
    ("string_UTF-16LE_with_BOM", b"\xff\xfe[\x00\"\x00\xe8\x00\"\x00]\x00"),
    ("string_UTF-8_invalid_sequence", b"[\"\xe6\x97\xa5\xd1\x88\xfb\"]"),
    ("string_UTF8_surrogate_U+D800", b"[\"\xed\xa0\x81\"]"),
    ("string_utf16BE_no_BOM", b"\x00[\x00\"\x00\xe8\x00\"\x00]"),
    ("string_utf16LE_no_BOM", b"[\x00\"\x00\xe8\x00\"\x00]\x00"),
    ("structure_UTF-8_BOM_empty_object", b"\xef\xbb\xbf{}"),
];
