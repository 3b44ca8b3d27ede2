//! Binary fields, as the text protocol gives them (compared with servers in tests/servers).

use super::super::column::Column;
use super::super::reader::Reader;
use super::column;

fn text(kind: u8, flags: u8, decimals: u8, field: &[u8]) -> String {
    let definition = column("a", kind, flags, decimals);
    let (_, column) = Column::parse(&definition).unwrap();
    let (mut reader, mut out) = (Reader(field), Vec::new());
    column.put(&mut reader, &mut out).unwrap();
    assert!(reader.0.is_empty(), "{} bytes were not read", reader.0.len());
    String::from_utf8(out).unwrap()
}

const UNSIGNED: u8 = 32;
const ZEROFILL: u8 = 64;

#[test]
fn whole_numbers() {
    assert_eq!(text(1, 0, 0, &[0xff]), "-1");
    assert_eq!(text(1, UNSIGNED, 0, &[0xff]), "255");
    assert_eq!(text(2, 0, 0, &(-300i16).to_le_bytes()), "-300");
    assert_eq!(text(3, UNSIGNED, 0, &u32::MAX.to_le_bytes()), "4294967295");
    assert_eq!(text(8, 0, 0, &i64::MIN.to_le_bytes()), "-9223372036854775808");
    assert_eq!(text(8, UNSIGNED, 0, &u64::MAX.to_le_bytes()), "18446744073709551615");
    // The definition in these tests says five digits.
    assert_eq!(text(3, UNSIGNED | ZEROFILL, 0, &7u32.to_le_bytes()), "00007");
}

#[test]
fn numbers_with_fractions() {
    let double = |n: f64| text(5, 0, 31, &n.to_le_bytes());
    assert_eq!(double(0.1), "0.1");
    assert_eq!(double(1.0), "1");
    assert_eq!(double(-0.000_012_5), "-0.0000125");
    assert_eq!(double(1e300), "1e300");
    assert_eq!(text(5, 0, 2, &1.5f64.to_le_bytes()), "1.50");
    assert_eq!(text(4, 0, 31, &0.1f32.to_le_bytes()), "0.1");
    assert_eq!(text(4, 0, 31, &16_777_216f32.to_le_bytes()), "16777200");
    assert_eq!(text(246, 0, 2, b"\x0512.30"), "12.30");
}

#[test]
fn dates_and_times() {
    assert_eq!(text(10, 0, 0, &[4, 0xe7, 7, 2, 28]), "2023-02-28");
    assert_eq!(text(10, 0, 0, &[0]), "0000-00-00");
    assert_eq!(text(12, 0, 0, &[4, 0xe7, 7, 2, 28]), "2023-02-28 00:00:00");
    assert_eq!(text(12, 0, 0, &[7, 0xe7, 7, 2, 28, 1, 2, 3]), "2023-02-28 01:02:03");
    let parts = [11, 0xe7, 7, 2, 28, 1, 2, 3, 0x40, 0xe2, 1, 0];
    assert_eq!(text(7, 0, 6, &parts), "2023-02-28 01:02:03.123456");
    assert_eq!(text(7, 0, 3, &parts), "2023-02-28 01:02:03.123");
    assert_eq!(text(11, 0, 0, &[0]), "00:00:00");
    assert_eq!(text(11, 0, 0, &[8, 1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
    assert_eq!(text(11, 0, 1, &[12, 0, 0, 0, 0, 0, 3, 4, 5, 0x40, 0xe2, 1, 0]), "03:04:05.1");
}
