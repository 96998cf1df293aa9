//! Points and boxes, in SVG user units: x grows to the right, y grows downwards.

/// A place in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Point {
    /// From the left edge.
    pub x: f64,
    /// From the top edge.
    pub y: f64,
}

impl Point {
    /// The point (`x`, `y`).
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// This point with its axes exchanged: how a top-to-bottom layout becomes a left-to-right one.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { x: self.y, y: self.x }
    }
}

/// An axis-parallel box.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Extent to the right.
    pub width: f64,
    /// Extent downwards.
    pub height: f64,
}

impl Rect {
    /// The box of this size around `centre`.
    #[must_use]
    pub fn around(centre: Point, width: f64, height: f64) -> Self {
        Self { x: centre.x - width / 2.0, y: centre.y - height / 2.0, width, height }
    }

    /// The right edge.
    #[must_use]
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The bottom edge.
    #[must_use]
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The point in the middle.
    #[must_use]
    pub fn centre(&self) -> Point {
        Point::new(self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// Whether the interiors of both boxes meet by more than rounding.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        const ROUNDING: f64 = 0.01;
        self.x + ROUNDING < other.right()
            && other.x + ROUNDING < self.right()
            && self.y + ROUNDING < other.bottom()
            && other.y + ROUNDING < self.bottom()
    }

    /// Whether `other` lies inside this box, up to rounding.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        const ROUNDING: f64 = 0.01;
        self.x <= other.x + ROUNDING
            && self.y <= other.y + ROUNDING
            && other.right() <= self.right() + ROUNDING
            && other.bottom() <= self.bottom() + ROUNDING
    }

    /// This box moved by (`dx`, `dy`).
    #[must_use]
    pub fn moved(self, dx: f64, dy: f64) -> Self {
        Self { x: self.x + dx, y: self.y + dy, ..self }
    }

    /// This box with its axes exchanged.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { x: self.y, y: self.x, width: self.height, height: self.width }
    }
}
