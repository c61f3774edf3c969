package kminilog;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of Spark's optimizer: each scan of the format is planned for itself; see pushdown.py.
 *
 * Janino compiles it, the compiler that Spark has for its queries: no lambdas, no type parameters.
 */
public final class Pushdown extends Rule {

    static final String FORMAT = "kminilog";

    /** What SparkSessionExtensions ask for a rule. */
    public static final class OfSession extends AbstractFunction1 {
        public Object apply(Object session) {
            return new Pushdown();
        }
    }

    public TreeNode apply(TreeNode plan) {
        return ((LogicalPlan) plan).transformDown(new WithOwnScans());
    }

    static final class WithOwnScans extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return node instanceof DataSourceV2Relation
                && ((DataSourceV2Relation) node).table().getClass() == PythonTable.class
                && ((DataSourceV2Relation) node).table().name().equals(FORMAT);
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) {
                return otherwise.apply(node);
            }
            DataSourceV2Relation read = (DataSourceV2Relation) node;
            return read.copy(
                new OwnScans(read.table().schema()), read.output(), read.catalog(),
                read.identifier(), read.options(), read.timeTravelSpec());
        }
    }

    static final class OwnScans extends PythonTable {
        OwnScans(StructType schema) {
            super(null, FORMAT, schema);
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return new OwnScan(schema(), options);
        }
    }

    static final class OwnScan implements SupportsPushDownFilters, SupportsPushDownRequiredColumns {
        private final CaseInsensitiveStringMap options;
        private final StructType schema;
        private StructType wanted;
        private Filter[] filters = new Filter[0];

        OwnScan(StructType schema, CaseInsensitiveStringMap options) {
            this.options = options;
            this.schema = schema;
            this.wanted = schema;
        }

        /** Spark evaluates all filters itself, too. */
        public Filter[] pushFilters(Filter[] filters) {
            this.filters = filters;
            return filters;
        }

        public Filter[] pushedFilters() {
            return filters;
        }

        /** A query may need no column, but a scan has one. */
        public void pruneColumns(StructType columns) {
            wanted = columns.length() > 0 ? columns : columns.add(schema.fields()[0]);
        }

        public Scan build() {
            Map all = new HashMap(options.asCaseSensitiveMap());
            all.put("pushed.columns", String.join(",", schema.fieldNames()));
            for (int i = 0; i < filters.length; i++) {
                all.put("pushed.filter." + i, filters[i].toString());
            }
            PythonDataSourceV2 source = new PythonDataSourceV2();
            source.setShortName(FORMAT);
            return new PythonScan(source, FORMAT, wanted, new CaseInsensitiveStringMap(all), filters);
        }
    }
}
