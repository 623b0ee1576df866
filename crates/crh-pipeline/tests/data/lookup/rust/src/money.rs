/// An amount. `Money` is in cents.
#[derive(Clone, Copy)]
pub struct Money(pub u64);

/// Things that can be shown.
pub trait Shown {
    fn show(&self) -> String;
}

impl Money {
    pub fn new(cents: u64) -> Self {
        Self(cents)
    }

    pub fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}

impl Shown for Money {
    fn show(&self) -> String {
        format!("{}", self.0)
    }
}

pub fn round_money(money: Money) -> Money {
    // round_money keeps whole cents.
    Money::new(money.0)
}

#[macro_export]
macro_rules! cents {
    ($amount:expr) => {
        $crate::money::Money::new($amount)
    };
}
