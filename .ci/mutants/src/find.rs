//! Where a mutant can be planted: the source as a syntax tree, walked for expressions that a small mistake would change.

use std::ops::Range;
use std::path::{Path, PathBuf};

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit, Stmt, UnOp};

/// A small mistake.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Its number, which the environment names.
    pub number: usize,
    /// The room that it is in.
    pub room: String,
    /// Relative to the tree.
    pub file: PathBuf,
    /// Line of its first byte, from 1.
    pub line: usize,
    /// Bytes of the file that it replaces.
    pub bytes: Range<usize>,
    /// What is there instead.
    pub code: String,
    /// A whole statement, which the mutant leaves out.
    pub statement: bool,
}

/// All mutants of the rooms of `tree`, but for those in tests.
pub fn mutants(tree: &Path, rooms: &[String]) -> Result<Vec<Mutant>, String> {
    let mut found = Vec::new();
    for room in rooms {
        let mut files = Vec::new();
        let places = crate::plant::CRATES.map(|place| tree.join(place).join(room));
        places.iter().filter(|place| place.is_dir()).try_for_each(|place| list(place, &mut files))?;
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", path.display()))?;
            let file = path.strip_prefix(tree).expect("the file is of the tree").to_owned();
            let mut walk = Walk { text: &text, lines: line_starts(&text), room, file, found: &mut found };
            walk.visit_file(&parsed);
        }
    }
    Ok(found)
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let of_tests = name.contains("tests") || name.contains("fuzzing") || name == "forgetful.rs";
        if of_tests {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

struct Walk<'a> {
    text: &'a str,
    lines: Vec<usize>,
    room: &'a str,
    file: PathBuf,
    found: &'a mut Vec<Mutant>,
}

impl Walk<'_> {
    fn offset(&self, place: LineColumn) -> usize {
        let start = self.lines[place.line - 1];
        let line = &self.text[start..];
        start + line.char_indices().nth(place.column).map_or(line.len(), |(at, _)| at)
    }

    fn range(&self, of: &impl Spanned) -> Range<usize> {
        let span = of.span();
        self.offset(span.start())..self.offset(span.end())
    }

    fn code(&self, of: &impl Spanned) -> &str {
        &self.text[self.range(of)]
    }

    fn add(&mut self, of: &impl Spanned, code: String, statement: bool) {
        let line = of.span().start().line;
        let (bytes, room, file) = (self.range(of), self.room.to_owned(), self.file.clone());
        self.found.push(Mutant { number: 0, room, file, line, bytes, code, statement });
    }

    fn binary(&mut self, node: &syn::ExprBinary) {
        let other = match node.op {
            BinOp::Lt(_) => "<=",
            BinOp::Le(_) => "<",
            BinOp::Gt(_) => ">=",
            BinOp::Ge(_) => ">",
            BinOp::Eq(_) => "!=",
            BinOp::Ne(_) => "==",
            BinOp::And(_) if !has_let(&node.left) && !has_let(&node.right) => "||",
            BinOp::Or(_) => "&&",
            BinOp::Add(_) | BinOp::Sub(_) if is_number(&node.right) => {
                return self.add(node, self.code(&*node.left).to_owned(), false);
            }
            _ => return,
        };
        let code = format!("({}) {other} ({})", self.code(&*node.left), self.code(&*node.right));
        self.add(node, code, false);
    }

    fn call(&mut self, node: &syn::ExprMethodCall) {
        let receiver = self.code(&*node.receiver).to_owned();
        let code = match (node.method.to_string().as_str(), node.args.len()) {
            ("min", 1) => format!("{receiver}.max({})", self.code(&node.args[0])),
            ("max", 1) => format!("{receiver}.min({})", self.code(&node.args[0])),
            ("is_some", 0) => format!("{receiver}.is_none()"),
            ("is_none", 0) => format!("{receiver}.is_some()"),
            ("is_empty" | "is_zero", 0) => format!("!{}", self.code(node)),
            _ => return,
        };
        self.add(node, code, false);
    }
}

fn is_number(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(literal) if matches!(literal.lit, Lit::Int(_)))
}

fn has_let(expression: &Expr) -> bool {
    struct Finder(bool);
    impl<'ast> Visit<'ast> for Finder {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr(expression);
    finder.0
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string().contains("test")))
    })
}

/// Whether leaving the statement out leaves code that compiles, most likely.
fn can_be_left_out(expression: &Expr) -> bool {
    match expression {
        Expr::Try(inner) => can_be_left_out(&inner.expr),
        Expr::MethodCall(_) | Expr::Call(_) => true,
        Expr::Assign(assignment) => matches!(*assignment.left, Expr::Field(_) | Expr::Index(_)),
        Expr::Binary(binary) => matches!(
            binary.op,
            BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::BitOrAssign(_) | BinOp::BitAndAssign(_)
        ),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !is_for_tests(&node.attrs) {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        if node.sig.constness.is_none() && !is_for_tests(&node.attrs) {
            visit::visit_item_fn(self, node);
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        // what is only printed for people to debug by is not held to anything
        if node.sig.constness.is_none() && !is_for_tests(&node.attrs) && node.sig.ident != "fmt" {
            visit::visit_impl_item_fn(self, node);
        }
    }

    // values that the compiler computes
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_expr_repeat(&mut self, _: &'ast syn::ExprRepeat) {}

    fn visit_stmt(&mut self, node: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = node
            && can_be_left_out(expression)
        {
            self.add(node, String::new(), true);
        }
        visit::visit_stmt(self, node);
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        self.binary(node);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        if matches!(node.op, UnOp::Not(_)) {
            self.add(node, self.code(&*node.expr).to_owned(), false);
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_lit(&mut self, node: &'ast syn::ExprLit) {
        if let Lit::Bool(value) = &node.lit {
            self.add(node, (!value.value).to_string(), false);
        }
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        self.call(node);
        visit::visit_expr_method_call(self, node);
    }
}
