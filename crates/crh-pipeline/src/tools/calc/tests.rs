use proptest::prelude::*;

use super::parser::evaluate;

fn value(text: &str) -> String {
    match evaluate(text) {
        Ok(number) => number.to_string(),
        Err(fault) => fault.to_string(),
    }
}

fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(value(text), *expected, "{text}");
    }
}

#[test]
fn operators_bind_as_in_mathematics() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2 - 3 - 4", "-5"),
        ("24 / 4 / 2", "3"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^-1", "0.5"),
        ("2^-3^2", "0.001953125"),
        ("--2", "2"),
        ("+-+2", "-2"),
        ("3 * -2", "-6"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("7.5 % 2", "1.5"),
        ("2 * 3 % 4", "2"),
        (" \t1\n+ 1 ", "2"),
    ]);
}

#[test]
fn integers_are_exact_and_floats_have_14_digits() {
    check(&[
        ("2^126", "85070591730234615865843651857942052864"),
        ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("170141183460469231731687303715884105727 + 1", "1.7014118346047e38"),
        ("99999999999999999999 * 3", "299999999999999999997"),
        ("6 / 3", "2"),
        ("1 / 3", "0.33333333333333"),
        ("2 / 3", "0.66666666666667"),
        ("0.1 + 0.2", "0.3"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("1e-9", "1e-9"),
        ("123456789.125 * 1", "123456789.125"),
        ("1e21 * 1", "1e21"),
        ("1e20 * 1", "100000000000000000000"),
        ("0xff + 0X10", "271"),
        (".5 + 1.", "1.5"),
        ("-0.0", "0"),
        ("2 * pi", "6.2831853071796"),
        ("e", "2.718281828459"),
    ]);
}

#[test]
fn functions_compute_their_values() {
    check(&[
        ("abs(-3)", "3"),
        ("abs(-3.5)", "3.5"),
        ("min(3, 1, 2)", "1"),
        ("max(3, 1e2, 2)", "100"),
        ("max(9007199254740993, 9007199254740992)", "9007199254740993"),
        ("floor(-1.5)", "-2"),
        ("ceil(-1.5)", "-1"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("floor(1e300)", "1e300"),
        ("sqrt(2)", "1.4142135623731"),
        ("sqrt(16)", "4"),
        ("log(1000)", "3"),
        ("log(8, 2)", "3"),
        ("ln(e)", "1"),
        ("exp(0)", "1"),
        ("pow(2, 10)", "1024"),
    ]);
}

#[test]
fn errors_name_the_column() {
    check(&[
        ("", "column 1: expected a number, found the end"),
        ("1 +", "column 4: expected a number, found the end"),
        ("1 2", "column 3: expected an operator, found `2`"),
        ("2e", "column 2: expected an operator, found `e`"),
        ("(1", "column 3: expected `)`, found the end"),
        ("min(1 2)", "column 7: expected `)`, found `2`"),
        ("1)", "column 2: expected an operator, found `)`"),
        ("* 2", "column 1: expected a number, found `*`"),
        ("é", "column 1: `é` is no constant; there are `pi` and `e`"),
        ("1 / (2 - 2)", "column 3: division by zero"),
        ("1 % 0", "column 3: division by zero"),
        ("0 ^ -1", "column 3: division by zero"),
        ("10^400", "column 3: the result is too large"),
        ("1e999", "column 1: the result is too large"),
        ("0x", "column 1: `0x` is followed by no hexadecimal digit"),
        ("0xfffffffffffffffffffffffffffffffff", "column 1: the number is too large"),
        (".", "column 1: `.` is not a number"),
        ("sqrt(-1)", "column 1: the result is not a real number"),
        ("2 + ln(0)", "column 5: the result is not a real number"),
        ("log(5, 1)", "column 1: division by zero"),
        ("pow(1)", "column 1: `pow` takes two numbers, not 1"),
        ("min()", "column 1: `min` takes at least one number, not 0"),
        (
            "system(1)",
            "column 1: `system` is no function; there are `abs`, `min`, `max`, `floor`, `ceil`, `round`, `sqrt`, `log`, `ln`, `exp` and `pow`",
        ),
    ]);
}

#[test]
fn length_and_depth_are_bounded() {
    check(&[
        (&"1+".repeat(600), "column 1001: the expression is longer than 1000 characters"),
        (&"(".repeat(500), "column 101: the expression is nested more than 100 deep"),
        (&"-".repeat(500), "column 101: the expression is nested more than 100 deep"),
        (&"2^".repeat(400), "column 201: the expression is nested more than 100 deep"),
        (&format!("{}1{}", "(".repeat(99), ")".repeat(99)), "1"),
        (&format!("{}1", "1+".repeat(499)), "500"),
    ]);
}

proptest! {
    #[test]
    fn integers_match_native_arithmetic(a in any::<i64>(), b in any::<i64>(), c in 1_i64..) {
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(value(&format!("{a} * {b} + {a}")), (wide_a * wide_b + wide_a).to_string());
        prop_assert_eq!(value(&format!("({a}) % {c}")), (a % c).to_string());
        prop_assert_eq!(value(&format!("({a} * {c}) / {c}")), a.to_string());
    }

    #[test]
    fn any_text_has_a_one_line_answer(text in "[-+*/%^()., 0-9a-fxepi]{0,60}") {
        let answer = value(&text);
        assert!(!answer.is_empty() && !answer.contains('\n'), "{text:?}: {answer:?}");
        assert!(!answer.contains("inf") && !answer.contains("NaN"), "{text:?}: {answer:?}");
    }
}
