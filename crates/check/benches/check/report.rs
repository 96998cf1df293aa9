//! Tables, and where they go in `docs/benchmarks.md`: between two comments that name the part.

/// What a part of the benchmark found.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    remarks: Vec<String>,
}

impl Table {
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new(), remarks: Vec::new() }
    }

    /// Adds a row, and shows it at once: the last ones of a table may take a while.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        println!("  {}", cells.join(" · "));
        self.rows.push(cells);
    }

    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut text = format!("| {} |\n|{}\n", self.heads.join(" | "), "---|".repeat(self.heads.len()));
        for row in &self.rows {
            text += &format!("| {} |\n", row.join(" | "));
        }
        for remark in &self.remarks {
            text += &format!("\n{remark}\n");
        }
        text
    }
}

/// 1234567 as 1,234,567.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// CPU-seconds with as many places as tell something.
pub(crate) fn seconds(spent: f64) -> String {
    if spent < 0.1 { format!("{spent:.4}") } else { format!("{spent:.2}") }
}

/// Replaces the table of `part` in `docs/benchmarks.md`.
pub(crate) fn write(part: &str, table: &str) -> std::io::Result<()> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let text = std::fs::read_to_string(&path)?;
    let (open, close) = (format!("<!-- check {part} -->\n"), format!("<!-- end of check {part} -->"));
    let Some((before, rest)) = text.split_once(&open) else {
        println!("docs/benchmarks.md has no place for `{part}`");
        return Ok(());
    };
    let Some((_, after)) = rest.split_once(&close) else {
        println!("the place for `{part}` in docs/benchmarks.md has no end");
        return Ok(());
    };
    std::fs::write(&path, format!("{before}{open}\n{table}\n{close}{after}"))
}
