//! Every function by the name that SQL calls it by, and what it returns.
#![allow(unsafe_code)] // the attribute that names an entry; the entries are `interface`'s

use std::ffi::{c_char, c_ulong};

use crate::interface::{self, Args, Init, export};
use crate::{bitmap, files, json, uuid, version};

export! {
    string "dyno_kit_version" version::Version;

    string "uuid_to_bin" uuid::ToBinary;
    string "bin_to_uuid" uuid::ToText;
    integer "is_uuid" uuid::IsUuid;

    string "json_flatten" json::Flatten;
    string "json_extract_all" json::ExtractAll;
    string "json_tokens" json::Tokens;
    integer "json_holds" json::Holds;
    string_of_group "jsum" json::Sum;
    string_of_group "jmin" json::Minimum;
    string_of_group "jmax" json::Maximum;
    string_of_group "javg" json::Average;
    integer_of_group "jcount" json::Count;

    string "rb_build" bitmap::Build;
    string "rb_or" bitmap::Either;
    string "rb_and" bitmap::Both;
    string "rb_xor" bitmap::One;
    string "rb_andnot" bitmap::AndNot;
    string_of_group "rb_build_agg" bitmap::BuildAgg;
    string_of_group "rb_or_agg" bitmap::Or;
    string_of_group "rb_and_agg" bitmap::And;
    string_of_group "rb_xor_agg" bitmap::Xor;
    integer "rb_cardinality" bitmap::Cardinality;
    integer "rb_contains" bitmap::Contains;
    integer "rb_min" bitmap::Min;
    integer "rb_max" bitmap::Max;
    string "rb_to_list" bitmap::ToList;
    string "rb_to_json" bitmap::ToJson;

    integer "fb_create" files::Create;
    integer "fb_load" files::Load;
    integer "fb_insert" files::Insert;
    integer_of_group "fb_insert2" files::Insert2;
    string "fb_query" files::Query;
    string "fb_inlist" files::InList;
    integer "fb_delete" files::Delete;
    integer "fb_drop" files::Drop;
    string "fb_list" files::List;

    // the names that users of the older tool know
    string "rapid_flatten_json" json::Flatten;
    string "rapid_extract_all" json::ExtractAll;
}
