//! Nearest names, for hints.

/// Up to three of `names` that a misspelt `name` may have meant, as a hint; empty: none is near.
pub fn hint<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let mut near: Vec<(f64, &str)> = names
        .into_iter()
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let names: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    match names.as_slice() {
        [] => String::new(),
        some => format!("did you mean {}?", some.join(" or ")),
    }
}

/// The nearest of `names`, or all of them where none is near.
pub fn offer(name: &str, mut names: Vec<String>) -> String {
    names.sort();
    let near = hint(name, names.iter().map(String::as_str));
    if near.is_empty() { format!("known: {}", names.join(", ")) } else { near }
}
