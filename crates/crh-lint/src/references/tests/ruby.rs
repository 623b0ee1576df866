use super::{check_arity, must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn removed_ruby_symbols_are_reported() {
    must_find(&[
        ("//- lib/a.rb\nmodule Shop\n  class Row\n  end\n  class Other\n  end\nend\n//- lib/b.rb\nShop::Row.new\n//- head\n//- lib/a.rb\nmodule Shop\n  class Other\n  end\nend\n", "lib/a.rb:-2 removed `Row` is gone, and 1 place still uses it"),
        ("//- lib/a.rb\nmodule Shop\n  class Row\n    def self.load(x)\n    end\n  end\nend\n//- lib/b.rb\nmodule Shop\n  Row.load(1)\n  Shop::Row.load(1)\nend\n//- head\n//- lib/a.rb\nmodule Shop\n  class Row\n    def self.read(x)\n    end\n  end\nend\n", "lib/a.rb:3 removed `load` is gone, and 2 places still use it"),
        ("//- lib/a.rb\nx = 1\n//- lib/b.rb\nrequire_relative \"a\"\n//- head\n//- lib/a.rb deleted\n", "lib/a.rb:-1 removed `lib/a.rb` is gone, and 1 place still imports it"),
        ("//- lib/b.rb\nx = 1\n//- head\n//- lib/b.rb\nrequire_relative \"nothing\"\nx = 1\n", "lib/b.rb:1 missing-import `nothing` is imported, but there is no such module"),
    ]);
}

#[test]
fn possibly_existing_ruby_symbols_are_not_reported() {
    must_not_find(&[
        // Ruby's own constants.
        "//- a.rb\nmodule A\n  Set = Set.new([1])\n  def self.all\n    Set.map(&:to_s)\n  end\nend\n//- head\n//- a.rb\nmodule A\n  All = Set.new([1])\n  def self.all\n    All.map(&:to_s)\n  end\nend\n",
        "//- lib/a.rb\nmodule Shop\n  class Row\n  end\nend\n//- lib/b.rb\nShop::Row.new\n//- head\n//- lib/a.rb\nmodule Shop\nend\n//- lib/c.rb\nclass Shop::Row\nend\n",
        "//- lib/a.rb\nmodule Shop\n  class Row\n  end\nend\n//- lib/b.rb\nOther::Row.new\nRow.new\n//- head\n//- lib/a.rb\nmodule Shop\nend\n",
        "//- lib/a.rb\nmodule Shop\n  class Row < Base\n    def self.load(x)\n    end\n  end\nend\n//- lib/b.rb\nShop::Row.load(1)\n//- head\n//- lib/a.rb\nmodule Shop\n  class Row < Base\n  end\nend\n",
        "//- lib/a.rb\nclass String\n  def self.load\n  end\nend\n//- lib/b.rb\nString.new\n//- head\n//- lib/a.rb\nx = 1\n",
    ]);
}

#[test]
fn moved_ruby_file_is_missing_at_old_path() {
    must_find(&[(
        "//- lib/a.rb\nmodule A\nend\n//- lib/a/x.rb\n1\n//- lib/b.rb\nrequire_relative 'a'\nrequire_relative \"./a.rb\"\n//- head\n//- lib/c.rb from lib/a.rb\nmodule A\nend\n",
        "lib/c.rb:1 removed `lib/a.rb` is gone, and 2 places still import it",
    )]);
    must_find(&[(
        "//- lib/a/x.rb\nmodule X\nend\n//- lib/b.rb\nclass B\n  def load\n    require_relative 'a/x'\n  end\nend\n//- head\n//- lib/a/y.rb from lib/a/x.rb\nmodule X\nend\n",
        "lib/a/y.rb:1 removed `lib/a/x.rb` is gone, and 1 place still imports it",
    )]);
    must_not_find(&[
        "//- lib/a.rb\nmodule A\nend\n//- lib/b.rb\nrequire 'a'\nrequire_relative \"#{x}/a\"\n//- head\n//- lib/c.rb from lib/a.rb\nmodule A\nend\n",
        "//- lib/a.rb\nmodule A\nend\n//- lib/b.rb\nbegin\n  require_relative 'a'\nrescue LoadError\nend\n//- head\n//- lib/c.rb from lib/a.rb\nmodule A\nend\n",
    ]);
}

#[test]
fn mismatched_ruby_calls_are_reported() {
    let table = [
        ("a", "M.load(1)", "a, b", true),
        ("a", "M.load 1", "a, b", true),
        ("a, b", "M.load(1, 2)", "a", true),
        ("", "M.load", "a", true),
        ("a", "M.load(1) { |x| x }", "a, b, &block", true),
        ("a", "M.load(1)", "a, b = 1, c", true),
        ("a", "M.load(1)", "a, b = 1", false),
        ("a", "M.load(1)", "a, *b", false),
        ("a", "M.load(1)", "a, b: 1", false),
        ("a", "M.load(1)", "a, &b", false),
        ("a", "M.load(*x)", "a, b", false),
        ("a", "M.load(x: 1)", "a, b", false),
        ("a", "x.load(1)", "a, b", false),
        ("a", "M.send(:load, 1)", "a, b", false),
    ];
    for (before, call, after, is_found) in table {
        let fixture = format!(
            "//- a.rb\nmodule M\n  def self.load({before})\n  end\nend\n//- b.rb\n{call}\n//- head\n//- a.rb\nmodule M\n  def self.load({after})\n  end\nend\n"
        );
        check_arity(&fixture, "a.rb:2", is_found);
    }
    must_not_find(&[
        "//- a.rb\nmodule M\n  extend X\n  def self.load(a)\n  end\nend\n//- b.rb\nM.load(1)\n//- head\n//- a.rb\nmodule M\n  extend X\n  def self.load(a, b)\n  end\nend\n",
        "//- a.rb\nmodule M\n  def self.load(a)\n  end\nend\n//- b.rb\nM.load(1)\n//- c.rb\nmodule M\n  def self.load(a)\n  end\nend\n//- head\n//- a.rb\nmodule M\n  def self.load(a, b)\n  end\nend\n",
        "//- a.rb\nmodule M\n  def self.load(a)\n  end\nend\n//- b.rb\nM.load(1)\n//- head\n//- a.rb\nmodule M\n  def self.load(a)\n  end\n  def self.load(a, b)\n  end\nend\n",
    ]);
}
