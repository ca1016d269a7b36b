import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.util.CharTokenizer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.uhighlight.UnifiedHighlighter;
import org.apache.lucene.store.FSDirectory;

/** Index and questions by Lucene: `index TABLE DIR`, `ask QUESTIONS DIR exact|top`. */
public class Lucene {
    // words as the others have them: runs of letters and digits without case and accents, their stems, no stop words
    static final Analyzer WORDS = new Analyzer() {
        @Override protected TokenStreamComponents createComponents(String field) {
            Tokenizer words = CharTokenizer.fromTokenCharPredicate(Character::isLetterOrDigit);
            TokenStream folded = new ASCIIFoldingFilter(new LowerCaseFilter(words));
            return new TokenStreamComponents(words, new PorterStemFilter(folded));
        }
    };
    static final String[] FIELDS = {"title", "headings", "text"};
    static final float[] WEIGHTS = {3.0f, 1.5f, 1.0f};

    public static void main(String[] given) throws Exception {
        if (given[0].equals("index")) index(given[1], given[2]);
        else ask(given[1], given[2], given[3].equals("exact"));
    }

    static void index(String table, String dir) throws Exception {
        IndexWriterConfig config = new IndexWriterConfig(WORDS).setRAMBufferSizeMB(64);
        try (IndexWriter writer = new IndexWriter(FSDirectory.open(Path.of(dir)), config);
             BufferedReader in = Files.newBufferedReader(Path.of(table), StandardCharsets.UTF_8)) {
            for (String line; (line = in.readLine()) != null;) {
                String[] row = line.split("\t", -1);
                Document page = new Document();
                page.add(new StringField("url", row[0], Field.Store.YES));
                page.add(new TextField("title", row[1], Field.Store.YES));
                page.add(new TextField("headings", row[2], Field.Store.NO));
                page.add(new TextField("text", row[3], Field.Store.YES));
                writer.updateDocument(new Term("url", row[0]), page);
            }
            writer.commit();
        }
    }

    static List<String> terms(String text) throws IOException {
        List<String> terms = new ArrayList<>();
        try (TokenStream stream = WORDS.tokenStream("text", text)) {
            CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
            stream.reset();
            while (stream.incrementToken()) terms.add(term.toString());
            stream.end();
        }
        return terms;
    }

    static Query query(String question) throws IOException {
        boolean isPhrase = question.startsWith("\"");
        BooleanQuery.Builder all = new BooleanQuery.Builder();
        List<String> terms = terms(question);
        for (List<String> part : isPhrase ? List.of(terms) : terms.stream().map(List::of).toList()) {
            BooleanQuery.Builder any = new BooleanQuery.Builder();
            for (int at = 0; at < FIELDS.length; at++) {
                Query in = isPhrase ? new PhraseQuery(FIELDS[at], part.toArray(new String[0]))
                    : new TermQuery(new Term(FIELDS[at], part.get(0)));
                any.add(new BoostQuery(in, WEIGHTS[at]), BooleanClause.Occur.SHOULD);
            }
            all.add(any.build(), BooleanClause.Occur.MUST);
        }
        return all.build();
    }

    static void ask(String questions, String dir, boolean isExact) throws Exception {
        try (IndexReader reader = DirectoryReader.open(FSDirectory.open(Path.of(dir)))) {
            IndexSearcher searcher = new IndexSearcher(reader);
            UnifiedHighlighter excerpts = UnifiedHighlighter.builder(searcher, WORDS).withMaxLength(256 << 10).build();
            for (String question : Files.readAllLines(Path.of(questions))) {
                long begin = System.nanoTime();
                Query query = query(question);
                int counted = isExact ? Integer.MAX_VALUE : 1000;
                TopDocs top = searcher.search(query, new TopScoreDocCollectorManager(10, counted));
                String[] shown = excerpts.highlight("text", query, top);
                StringBuilder answer = new StringBuilder();
                for (int at = 0; at < shown.length; at++) {
                    Document page = reader.storedFields().document(top.scoreDocs[at].doc, Set.of("url", "title"));
                    answer.append(page.get("url")).append(page.get("title")).append(shown[at]);
                }
                System.out.println((System.nanoTime() - begin) / 1e6 + "\t" + top.totalHits.value);
            }
        }
    }
}
