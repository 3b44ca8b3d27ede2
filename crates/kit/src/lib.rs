//! Functions for MySQL and MariaDB. `exports` lists them by the names that SQL calls them by.

mod bitmap;
mod bounds;
mod exports;
mod fault;
mod files;
mod function;
mod interface;
mod json;
#[cfg(test)]
mod tests;
mod uuid;
mod version;
